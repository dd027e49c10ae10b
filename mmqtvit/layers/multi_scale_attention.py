"""EfficientViT's multi-scale attention, with QT-ViT's additions."""

from collections.abc import Sequence
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..attention import build_kernel
from ..attention.kernel import saturating_sum
from ..execution import channels_last, has_channels_inside, like_input
from .conv import ConvNormAct
from .norm import build_norm
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
        maps = v.reshape(-1, v.shape[2], *size)  # (B·G, d, H, W)
        # Among q and k the values have gaps, and batch norms take four times as long with gaps.
        maps = channels_last(maps) if has_channels_inside(v) else maps.contiguous()
        return F.gelu(self.norm(maps)).unflatten(0, (-1, v.shape[1])).flatten(-2)


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
        self.num_groups, self.head_dim = heads * (1 + len(scales)), head_dim
        width = 3 * heads * head_dim
        self.qkv = nn.Conv2d(channels, width, 1, bias=False)
        self.aggregations = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(width, width, scale, padding=scale // 2, groups=width, bias=False),
                nn.Conv2d(width, width, 1, groups=3 * heads, bias=False)) for scale in scales)
        self.position_embedding = None
        if native_size is not None:
            self.position_embedding = PositionEmbedding(self.num_groups, head_dim, native_size)
        self.kernel = build_kernel(attention, head_dim)
        self.value_shortcut = ValueShortcut(head_dim, norm_cfg) if value_shortcut else None
        value_channels = self.num_groups * head_dim
        self.local_residual = self.kernel.input_branch(channels, value_channels, heads)
        self.proj = ConvNormAct(value_channels, channels, norm_cfg=norm_cfg)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C, H, W) to (B, C, H, W)."""
        size = (x.shape[-2], x.shape[-1])
        qkv = self.qkv(x)
        qkv = torch.cat([qkv, *(aggregate(qkv) for aggregate in self.aggregations)], dim=1)
        # (B, 3·G·d, H, W) → three views (B, G, d, H·W): each group holds its own q, k and v
        # By H·W, not flattened: ONNX would keep the number of tokens of the image it was made with.
        q, k, v = qkv.reshape(-1, self.num_groups, 3 * self.head_dim, size[0] * size[1]).chunk(
            3, dim=2)
        if self.position_embedding is not None:
            k = self.position_embedding(k, size)
        out = self._as_tokens(like_input(self._as_map(self.kernel(q, k, v, size), size), x))
        if self.value_shortcut is not None:
            out = saturating_sum(out, self.value_shortcut(v, size))
        if self.local_residual is not None:
            out = saturating_sum(out, self.local_residual(x, v))
        return self.proj(self._as_map(out, size))

    @staticmethod
    def _as_map(tokens: Tensor, size: tuple[int, int]) -> Tensor:
        """Turn (B, G, d, H·W) into (B, G·d, H, W)."""
        return tokens.flatten(1, 2).unflatten(-1, size)

    def _as_tokens(self, maps: Tensor) -> Tensor:
        """Turn (B, G·d, H, W) into (B, G, d, H·W)."""
        return maps.unflatten(1, (self.num_groups, -1)).flatten(-2)
