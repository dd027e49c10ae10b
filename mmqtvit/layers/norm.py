"""Norm layers from OpenMMLab's ``norm_cfg``."""

from typing import Optional

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

BATCH_NORMS = {'BN': nn.BatchNorm2d, 'SyncBN': nn.SyncBatchNorm}


def build_norm(norm_cfg: dict, num_features: int) -> nn.Module:
    """Build the norm layer that ``norm_cfg`` describes.

    Args:
        norm_cfg (dict): ``type``, optionally ``requires_grad``, and the layer's own arguments.
        num_features (int): Number of channels.

    Raises:
        ValueError: If ``norm_cfg`` has no type.
        KeyError: If no registry knows the type.
    """
    cfg = dict(norm_cfg)
    if 'type' not in cfg:
        raise ValueError(f"norm_cfg needs a 'type' such as {sorted(BATCH_NORMS)}, got {norm_cfg}")
    if cfg['type'] not in BATCH_NORMS:
        # Everything else is mmcv's. Imported here since mmcv.cnn loads the compiled operators,
        # which the backbones do without.
        from mmcv.cnn import build_norm_layer
        try:
            return build_norm_layer(cfg, num_features)[1]
        except KeyError as error:  # its own message does not always name the type
            raise KeyError(f"norm_cfg type {cfg['type']!r} is none of {sorted(BATCH_NORMS)} and "
                           f'not in the registry of norms: {error}') from error
    requires_grad = cfg.pop('requires_grad', True)
    norm = BATCH_NORMS[cfg.pop('type')](num_features, **cfg)
    return norm.requires_grad_(requires_grad)


def has_fixed_statistics(norm: Optional[nn.Module]) -> bool:
    """Whether a layer is a batch norm that normalises by its running statistics."""
    return isinstance(norm, _BatchNorm) and norm.track_running_stats and not norm.training


def scale_and_shift(norm: _BatchNorm) -> tuple[Tensor, Tensor]:
    """What a batch norm with running statistics does in evaluation, x · scale + shift.

    Args:
        norm (_BatchNorm): Over C channels.

    Returns:
        tuple[Tensor, Tensor]: Scale and shift, (C, ) each.
    """
    scale = (norm.running_var + norm.eps).rsqrt()
    if not norm.affine:
        return scale, -norm.running_mean * scale
    scale = scale * norm.weight
    return scale, norm.bias - norm.running_mean * scale
