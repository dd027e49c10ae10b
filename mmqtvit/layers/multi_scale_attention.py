"""EfficientViT's multi-scale attention, with QT-ViT's additions."""

from collections.abc import Sequence
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..attention import build_kernel
from ..attention.kernel import saturate
from .conv import Conv2d, ConvNormAct
from .local_residual import LocalResidual
from .memory_format import channels_last, is_channels_last, prefers_channels_last
from .norm import build_norm, has_fixed_statistics, scale_and_shift
from .position_embedding import PositionEmbedding


class ValueShortcut(nn.Module):
    """GELU(BN(v)), the non-linear shortcut of QT-ViT around the kernel.

    The norm has one weight per channel of a group, and its statistics run over images, groups and
    tokens. Both functions act on each position alone, so the map may have any shape; the published
    code reshapes it to a square.

    Args:
        head_dim (int): Channels per group, d.
        norm_cfg (dict): Norm layer.
    """

    def __init__(self, head_dim: int, norm_cfg: dict) -> None:
        super().__init__()
        self.norm = build_norm(norm_cfg, head_dim)

    def forward(self, v: Tensor, size: tuple[int, int]) -> Tensor:
        """Map values (B, G, d, H·W) of a (H, W) map to the same shape."""
        norm = self.norm
        if has_fixed_statistics(norm):
            scale, shift = (x.unsqueeze(-1) for x in scale_and_shift(norm))  # (d, 1)
            # Unlike a norm layer this takes v as it lies in memory, among q and k. addcmul would
            # take twice as long on a CPU.
            return F.gelu((v.to(scale.dtype) * scale).add_(shift)).to(v.dtype)
        maps = v.flatten(0, 1).unflatten(-1, size)  # (B·G, d, H, W)
        return F.gelu(norm(maps)).view(v.shape)


class GroupedPointwiseConv(nn.Conv2d):
    """A 1×1 convolution within groups of channels, as one batch of matrix products.

    PyTorch runs a convolution with many groups on a CPU group by group.

    Args:
        channels (int): Input and output channels.
        groups (int): Groups.
    """

    def __init__(self, channels: int, groups: int) -> None:
        super().__init__(channels, channels, 1, groups=groups, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C, H, W) to (B, C, H, W)."""
        weight = self.weight.flatten(1).unflatten(0, (self.groups, -1))  # (groups, d, d)
        tokens = x.flatten(2).unflatten(1, (self.groups, -1))  # (B, groups, d, H·W)
        return (weight @ tokens).view(x.shape)


class MultiScaleAttention(nn.Module):
    """Attention within groups of channels, of which each has its own scale of aggregation.

    With h = C // d heads there are G = (1 + number of scales)·h groups. The kernel gets
    q, k and v of shape (B, G, d, H·W).

    Args:
        channels (int): Input and output channels, C.
        head_dim (int): Channels per group, d.
        attention (dict): Kernel, see :func:`mmqtvit.attention.build_kernel`.
        norm_cfg (dict): Norm layers.
        scales (Sequence[int]): Kernel sides of the depthwise aggregations. Defaults to (5,).
        native_size (int, optional): Side of the map that the positional embedding of the keys is
            made for. Defaults to None, no embedding.
        value_shortcut (bool): Whether to add GELU(BN(v)) to the kernel's output. Defaults to
            False.
    """

    def __init__(self,
                 channels: int,
                 head_dim: int,
                 attention: dict,
                 norm_cfg: dict,
                 scales: Sequence[int] = (5, ),
                 native_size: Optional[int] = None,
                 value_shortcut: bool = False) -> None:
        super().__init__()
        heads = channels // head_dim
        self.num_groups = heads * (1 + len(scales))
        width = 3 * heads * head_dim
        self.qkv = Conv2d(channels, width, 1, bias=False)
        self.aggregations = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(width, width, scale, padding=scale // 2, groups=width, bias=False),
                GroupedPointwiseConv(width, groups=3 * heads)) for scale in scales)
        self.position_embedding = None
        if native_size is not None:
            self.position_embedding = PositionEmbedding(self.num_groups, head_dim, native_size)
        self.kernel = build_kernel(attention, head_dim)
        self.value_shortcut = ValueShortcut(head_dim, norm_cfg) if value_shortcut else None
        value_channels = self.num_groups * head_dim
        self.local_residual = None
        if self.kernel.local_residual:
            self.local_residual = LocalResidual(channels, value_channels, heads)
        self.proj = ConvNormAct(value_channels, channels, norm_cfg=norm_cfg)

    @staticmethod
    def _sum(addition: Tensor, out: Tensor) -> Tensor:
        """Add in place; what float16 cannot hold becomes its largest number, as in the kernels."""
        total = addition.add_(out)
        return saturate(total, total.dtype) if total.dtype is torch.float16 else total

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C, H, W) to (B, C, H, W)."""
        size = (x.shape[-2], x.shape[-1])
        qkv = self.qkv(x)
        qkv = torch.cat([qkv, *(aggregate(qkv) for aggregate in self.aggregations)], dim=1)
        # (B, 3·G·d, H, W) → three views (B, G, d, H·W): each group holds its own q, k and v
        q, k, v = qkv.flatten(2).unflatten(1, (self.num_groups, -1)).chunk(3, dim=2)
        if self.position_embedding is not None:
            k = k + self.position_embedding(size)
        out = self.kernel(q, k, v, size)
        if self.value_shortcut is not None:
            out = self._sum(self.value_shortcut(v, size), out)
        if self.local_residual is not None:
            out = self._sum(self.local_residual(x, v), out)
        out = out.flatten(1, 2).unflatten(-1, size)
        if prefers_channels_last(x) and is_channels_last(x):
            out = channels_last(out)
        return self.proj(out)
