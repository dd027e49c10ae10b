"""Convolution, norm, activation."""

from collections import OrderedDict
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..compiling import is_compiling
from .norm import build_norm, has_fixed_statistics, scale_and_shift


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

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, in_channels, H, W) to (B, out_channels, ceil(H / stride), ceil(W / stride))."""
        if not self._folds(x):
            return super().forward(x)
        conv = self.conv
        scale, shift = scale_and_shift(self.norm)
        weight = conv.weight * scale.view(-1, 1, 1, 1)
        bias = shift if conv.bias is None else torch.addcmul(shift, conv.bias, scale)
        out = F.conv2d(x, weight, bias, conv.stride, conv.padding, conv.dilation, conv.groups)
        return self.act(out) if hasattr(self, 'act') else out

    def _folds(self, x: Tensor) -> bool:
        """Whether to apply the norm to the weights, as there are more positions than weights.

        Only a batch norm with fixed statistics, and not in half precision, which the product of
        weight and scale would round once more. A compiler does better by itself, and would have
        to ask the size.
        """
        if not has_fixed_statistics(getattr(self, 'norm', None)) or is_compiling():
            return False
        weight, stride = self.conv.weight, self.conv.stride[0]
        positions = x.numel() // (x.shape[1] * stride**2)
        return (x.dtype == weight.dtype in (torch.float32, torch.float64)
                and positions > weight[0].numel())
