"""Convolution, norm, activation."""

from collections import OrderedDict
from typing import Optional

from torch import Tensor, nn

from ..execution import is_compiling, is_watched
from .norm import build_norm

#: Layers that return a new tensor and do not read it again.
_RETURN_NEW_TENSORS = (nn.Conv2d, nn.BatchNorm2d, nn.SyncBatchNorm)


class ConvNormAct(nn.Sequential):
    """A 'same' convolution, then a norm and an activation where wanted.

    The activation overwrites its input where it can and no hook may keep that input; ``inplace`` of
    the activation is set accordingly at each call.

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
        self._choose_inplace()

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C, H, W) to (B, C', H', W')."""
        # A compiled graph would have to ask each time whether the attribute is the same.
        if not is_compiling():
            self._choose_inplace()
        return super().forward(x)

    def _choose_inplace(self) -> None:
        *_, before, act = self, *self
        if 'inplace' in vars(act):
            free = (type(before) in _RETURN_NEW_TENSORS
                    and not (is_watched(before) or is_watched(act)))
            if act.inplace != free:
                act.inplace = free
