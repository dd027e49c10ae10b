"""The hidden layers of EfficientViT's and QT-ViT's classifiers."""

import torch.nn.functional as F
from mmengine.model import BaseModule
from torch import Tensor, nn

from ..backbones.arch import SERIES
from ..layers import ConvNormAct
from ..registry import register_model


@register_model
class ClassifierNeck(BaseModule):
    """1×1 convolution, average over the map, linear layer: what the published head does first.

    The rest of that head is a linear layer, so that ``mmpretrain.LinearClsHead`` completes it.

    Args:
        in_channels (int): Channels of the last map.
        hidden_channels (int): Channels of the convolution; ``FAMILIES`` in
            :mod:`mmqtvit.backbones.zoo` has the published ones.
        out_channels (int): Features, likewise.
        series (str): 'b' or 'l', which fixes the activation and ε. Defaults to 'b'.
        norm_cfg (dict): Norm of the convolution. Defaults to ``dict(type='BN')``.

    Raises:
        ValueError: If the series is unknown.
    """

    def __init__(self,
                 in_channels: int,
                 hidden_channels: int,
                 out_channels: int,
                 series: str = 'b',
                 norm_cfg: dict = dict(type='BN')) -> None:
        super().__init__([
            dict(type='TruncNormal', layer=['Conv2d', 'Linear'], std=0.02, bias=0.)
        ])
        if series not in SERIES:
            raise ValueError(f'series must be one of {sorted(SERIES)}, got {series!r}')
        eps, act = SERIES[series].eps, SERIES[series].act
        self.conv = ConvNormAct(
            in_channels, hidden_channels, norm_cfg={'eps': eps, **norm_cfg}, act=act)
        self.fc = nn.Linear(hidden_channels, out_channels, bias=False)
        self.norm = nn.LayerNorm(out_channels, eps=eps)
        self.act = act()

    def forward(self, maps: tuple[Tensor, ...]) -> tuple[Tensor]:
        """Turn the last map, (B, in_channels, H, W), into features (B, out_channels)."""
        pooled = F.adaptive_avg_pool2d(self.conv(maps[-1]), 1).flatten(1)
        return (self.act(self.norm(self.fc(pooled))), )
