"""Convolution, norm, activation."""

from collections import OrderedDict
from typing import Optional

from torch import nn

from .norm import build_norm


class ConvNormAct(nn.Sequential):
    """A 'same' convolution, then a norm and an activation where wanted.

    mmcv's ``ConvModule`` does the same, but importing it loads mmcv's compiled operators.

    Args:
        in_channels (int): Input channels.
        out_channels (int): Output channels.
        kernel_size (int): Odd kernel side. Defaults to 1.
        stride (int): Defaults to 1.
        groups (int): Defaults to 1.
        bias (bool): Whether the convolution has a bias. Defaults to False.
        norm_cfg (dict, optional): Defaults to None, no norm.
        act (type, optional): Class of the activation. Defaults to None, no activation.
    """

    def __init__(self,
                 in_channels: int,
                 out_channels: int,
                 kernel_size: int = 1,
                 stride: int = 1,
                 groups: int = 1,
                 bias: bool = False,
                 norm_cfg: Optional[dict] = None,
                 act: Optional[type] = None) -> None:
        layers = OrderedDict()
        layers['conv'] = nn.Conv2d(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding=kernel_size // 2,
            groups=groups,
            bias=bias)
        if norm_cfg is not None:
            layers['norm'] = build_norm(norm_cfg, out_channels)
        if act is not None:
            layers['act'] = act()
        super().__init__(layers)
