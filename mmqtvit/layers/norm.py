"""Norm layers from OpenMMLab's ``norm_cfg``."""

from torch import nn

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
