"""Convolution, norm, activation."""

from collections import OrderedDict
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..compiling import is_compiling
from .memory_format import is_channels_last, prefers_channels_last
from .norm import build_norm, has_fixed_statistics, scale_and_shift

#: Up to this many positions, over all images, and output channels a matrix product takes less time
#: than oneDNN's convolution, which rearranges its weights at each call.
FEW_POSITIONS, FEW_CHANNELS = 200, 2048


class Conv2d(nn.Conv2d):
    """A convolution that is a matrix product where that is faster."""

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, in_channels, H, W) to (B, out_channels, H', W')."""
        return self.convolve(x, self.weight, self.bias)

    def convolve(self, x: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
        """Convolve with a weight and a bias of the same shapes as this layer's own."""
        if self._is_product(x):
            rows = x.permute(0, 2, 3, 1)
            out = F.linear(rows.flatten(0, 2), weight.flatten(1), bias)
            return out.unflatten(0, rows.shape[:3]).permute(0, 3, 1, 2)
        return F.conv2d(x, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def _is_product(self, x: Tensor) -> bool:
        if (self.kernel_size, self.stride, self.padding) != ((1, 1), (1, 1), (0, 0)):
            return False
        if self.groups != 1:
            return False
        if not (prefers_channels_last(x) and is_channels_last(x)):
            return False
        positions = x.shape[0] * x.shape[2] * x.shape[3]
        return positions <= FEW_POSITIONS and self.out_channels <= FEW_CHANNELS


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
        layers['conv'] = Conv2d(
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
        out = conv.convolve(x, weight, bias)
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
