"""Refuses to deploy what is not as it was built."""

from torch import nn
from torch.nn.utils.parametrize import is_parametrized

from ..backbones import EfficientViT
from ..errors import UserError

_HOOKS = ('_forward_hooks', '_forward_pre_hooks', '_backward_hooks', '_backward_pre_hooks')

#: Where the classes that a backbone is built of are defined.
_KNOWN = ('torch.nn.modules.', 'mmqtvit.', 'mmcv.cnn.')


def check_ordinary(model: nn.Module) -> None:
    """Check that nothing hangs on the modules that folding would lose.

    Raises:
        UserError: If a module has hooks, a parametrisation or a ``forward`` of its own, or is of a
            class that a backbone is not built of; the message names the module.
    """
    for name, module in model.named_modules():
        _check(module, name or type(model).__name__)
    for prefix, backbone in model.named_modules():
        if isinstance(backbone, EfficientViT):
            for name, module in backbone.named_modules():
                _check_class(module, f'{prefix}.{name}'.strip('.'))


def _check(module: nn.Module, name: str) -> None:
    for kind in _HOOKS:
        if getattr(module, kind):
            raise UserError(f'deploy would lose the {kind.strip("_").replace("_", " ")} of {name}; '
                            'remove them first')
    if is_parametrized(module):
        raise UserError(f'deploy would lose the parametrisation of {name}; make it permanent first '
                        'with torch.nn.utils.parametrize.remove_parametrizations')
    if 'forward' in vars(module):
        raise UserError(f'deploy would lose the forward that was set on {name}; restore its own')


def _check_class(module: nn.Module, name: str) -> None:
    cls = type(module)
    registered = isinstance(module, EfficientViT)  # a subclass may be anywhere
    if not registered and not f'{cls.__module__}.'.startswith(_KNOWN):
        from ..attention import KERNELS
        if cls not in KERNELS.values():
            raise UserError(f'deploy does not know {name}, a {cls.__module__}.{cls.__qualname__}; '
                            'put the layer that the backbone was built with in its place')
