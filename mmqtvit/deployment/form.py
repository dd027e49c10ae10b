"""Makes the deploy form of a model."""

import copy
from collections import OrderedDict
from typing import Optional

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from ..backbones import EfficientViT
from ..checks import check_integer
from ..errors import UserError
from ..layers import ConvNormAct, MBConv, MultiScaleAttention, Residual
from ..layers.multi_scale_attention import ValueShortcut
from .fold import fold_norms
from .modules import FoldedValueShortcut, InPlaceResidual, KeptEmbedding, PointwiseConv
from .refuse import check_ordinary
from .strips import StripMBConv


def deploy(model: nn.Module, size: Optional[tuple[int, int]] = None) -> nn.Module:
    """Copy a finished model into a form that evaluates faster.

    The copy computes the same up to rounding (1e-5 relative in float32), in evaluation alone, and
    has a state dict of its own. In all of the model batch norms are folded into the convolutions
    before them, where neither is shared. In the backbones small 1×1 convolutions become matrix
    products on CPUs, activations and residual sums overwrite their input, positional embeddings
    are resized once, large maps are expanded strip by strip, and weights lie channels last.

    Args:
        model (nn.Module): A backbone of this package, or a model that holds some; it stays as it
            is.
        size (tuple[int, int], optional): (H, W) of the only images, in pixels, that the copy is
            for; at others it raises ValueError. Defaults to None: all sizes, and the positional
            embeddings for the last one are kept.

    Returns:
        nn.Module: The copy, in evaluation mode and without gradients.

    Raises:
        UserError: If the model holds no backbone of this package, or has what the copy would lose:
            hooks, parametrisations, replaced layers.
        ValueError: If the size is not two positive integers.

    Example:
        >>> import torch, mmqtvit
        >>> model = mmqtvit.QTViT('qtvit1').eval()
        >>> fast = mmqtvit.deploy(model, size=(224, 320))
        >>> [tuple(level.shape) for level in fast(torch.rand(1, 3, 224, 320))]
        [(1, 32, 56, 80), (1, 64, 28, 40), (1, 128, 14, 20), (1, 256, 7, 10)]
    """
    if size is not None:
        if not isinstance(size, (list, tuple)) or len(size) != 2:
            raise ValueError(f'size must be (height, width) in pixels, got {size!r}')
        size = tuple(check_integer('each side of size', side, 1) for side in size)
    if not any(isinstance(part, EfficientViT) for part in model.modules()):
        raise UserError('deploy takes a backbone of mmqtvit or a model that holds one, got '
                        f'{type(model).__name__}')
    check_ordinary(model)
    model = copy.deepcopy(model).eval().requires_grad_(False)
    fold_norms(model)
    for backbone in [part for part in model.modules() if isinstance(part, EfficientViT)]:
        _keep_embeddings(backbone, size)
        for module in reversed(list(backbone.modules())):  # children before their parents
            for name, child in module.named_children():
                setattr(module, name, _faster(child))
        backbone.to(memory_format=torch.channels_last)
    return model.eval()


def _keep_embeddings(backbone: EfficientViT, size: Optional[tuple[int, int]]) -> None:
    for index, stage in enumerate(backbone.stages):
        map_size = size and tuple(-(-side // backbone.stride(index)) for side in size)
        for module in stage.modules():
            if isinstance(module, MultiScaleAttention) and module.position_embedding is not None:
                module.position_embedding = KeptEmbedding(module.position_embedding, map_size)


def _faster(layer: nn.Module) -> nn.Module:
    """What takes a layer's place in a backbone; most stay."""
    if type(layer) is Residual:
        return InPlaceResidual(layer)
    if type(layer) is nn.Conv2d and _is_pointwise(layer):
        return PointwiseConv(layer)
    if type(layer) is ValueShortcut and _is_fixed(layer.norm):
        return FoldedValueShortcut(layer)
    if type(layer) is nn.Hardswish:
        return nn.Hardswish(inplace=True)
    if type(layer) is MBConv and _is_folded(layer):
        return StripMBConv(layer)
    if type(layer) is ConvNormAct:  # it would ask at each call who holds the activation's input
        return nn.Sequential(OrderedDict(layer.named_children()))
    return layer


def _is_pointwise(conv: nn.Conv2d) -> bool:
    return (conv.kernel_size == conv.stride == (1, 1) and conv.padding == (0, 0)
            and conv.groups == 1)


def _is_folded(block: MBConv) -> bool:
    layers = [part for part in block.modules() if not list(part.children())]
    return all(isinstance(part, (nn.Conv2d, nn.Identity, nn.Hardswish, nn.GELU)) for part in layers)


def _is_fixed(norm: nn.Module) -> bool:
    return isinstance(norm, _BatchNorm) and norm.track_running_stats
