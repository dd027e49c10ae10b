"""The ``mmqtvit`` scope in OpenMMLab's registry tree."""

from mmengine.registry import MODELS as ROOT_MODELS
from mmengine.registry import Registry

MODELS = Registry(
    'model',
    parent=ROOT_MODELS,
    scope='mmqtvit',
    locations=['mmqtvit.backbones', 'mmqtvit.necks'])


def register_model(cls: type) -> type:
    """Make ``cls`` known as ``mmqtvit.<name>`` and, where the name is free, as ``<name>``.

    mmengine resolves the scoped name by importing ``mmqtvit.registry`` itself. The bare name is
    found once the package is imported, because a search that fails in a toolbox goes on to the
    root. Who has registered the bare name before, in the root or in a toolbox, keeps it.
    """
    earlier = MODELS.module_dict.get(cls.__name__)  # the same class, imported by another path
    MODELS.register_module(module=cls, force=True)
    if ROOT_MODELS.module_dict.get(cls.__name__) is earlier:
        ROOT_MODELS.register_module(module=cls, force=True)
    return cls
