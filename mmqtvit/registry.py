"""The ``mmqtvit`` scope in OpenMMLab's registry tree."""

import inspect

from mmengine.registry import MODELS as ROOT_MODELS
from mmengine.registry import Registry

MODELS = Registry(
    'model',
    parent=ROOT_MODELS,
    scope='mmqtvit',
    locations=['mmqtvit.backbones', 'mmqtvit.necks'])


def register_model(cls: type) -> type:
    """Make ``cls`` known as ``mmqtvit.<name>`` and, in every scope, as ``<name>``.

    mmengine resolves the scoped name by importing ``mmqtvit.registry`` itself. The bare name is
    found once the package is imported, because a search that fails in a toolbox goes on to the
    root; a toolbox that has a class of the same name keeps its own.

    Raises:
        KeyError: If another package already holds the name in the root registry.
    """
    for registry in (MODELS, ROOT_MODELS):
        registered = registry.module_dict.get(cls.__name__)
        # A reload, or an import of the same file under a second path, is not a conflict.
        same_file = registered is not None and inspect.getfile(registered) == inspect.getfile(cls)
        registry.register_module(module=cls, force=same_file)
    return cls
