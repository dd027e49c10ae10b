"""Folds batch norms into the convolutions before them."""

from collections import Counter
from collections.abc import Iterator

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.utils.fusion import fuse_conv_bn_eval

from ..layers import ConvNormAct


def fold_norms(model: nn.Module) -> None:
    """Fold, in place, each batch norm that directly follows a convolution.

    In :class:`torch.nn.Sequential`, this package's blocks included, and in mmcv's ``ConvModule``,
    where the order is known. A layer that stands in several places stays as it is, as the
    convolutions that RTMDet's heads share between levels.

    Args:
        model (nn.Module): In evaluation mode; without gradients.
    """
    places = Counter(id(child) for module in model.modules() for child in module.children())
    for parent, conv_name, norm_name in list(_pairs(model)):
        conv, norm = parent.get_submodule(conv_name), parent.get_submodule(norm_name)
        if places[id(conv)] == places[id(norm)] == 1 and _foldable(conv, norm):
            setattr(parent, conv_name, fuse_conv_bn_eval(conv, norm))
            setattr(parent, norm_name, nn.Identity())


def _pairs(model: nn.Module) -> Iterator[tuple[nn.Module, str, str]]:
    for module in model.modules():
        if type(module).forward in (nn.Sequential.forward, ConvNormAct.forward):
            names = list(module._modules)
            yield from ((module, *pair) for pair in zip(names, names[1:]))
        elif _is_conv_module(module) and module.with_norm and module.order[:2] == ('conv', 'norm'):
            yield module, 'conv', module.norm_name


def _is_conv_module(module: nn.Module) -> bool:
    # By name, since importing mmcv's class loads its compiled operators.
    return any(f'{cls.__module__}.{cls.__name__}' == 'mmcv.cnn.bricks.conv_module.ConvModule'
               for cls in type(module).__mro__)


def _foldable(conv: nn.Module, norm: nn.Module) -> bool:
    return (type(conv) is nn.Conv2d and isinstance(norm, _BatchNorm) and norm.affine
            and norm.track_running_stats and conv.out_channels == norm.num_features)
