"""Layers of the deploy form: the same functions as the ordinary ones, for evaluation alone."""

from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..execution import (
    becomes_a_graph,
    channels_last,
    is_channels_last,
    is_recorded,
    prefers_channels_last,
)
from ..layers import PositionEmbedding, Residual
from ..layers.multi_scale_attention import ValueShortcut

#: Up to this many positions, over all images, and output channels a matrix product takes less time
#: than oneDNN's convolution, which rearranges its weights at each call.
FEW_POSITIONS, FEW_CHANNELS = 200, 2048


class InPlaceResidual(nn.Module):
    """x + branch(x), added to what the branch gave."""

    def __init__(self, residual: Residual) -> None:
        super().__init__()
        self.branch = residual.branch

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C, H, W) to (B, C, H, W)."""
        return self.branch(x).add_(x)


class PointwiseConv(nn.Conv2d):
    """A 1×1 convolution that is a matrix product on small maps."""

    def __init__(self, conv: nn.Conv2d) -> None:
        super().__init__(conv.in_channels, conv.out_channels, 1, bias=False, device='meta')
        self.weight, self.bias = conv.weight, conv.bias

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, in_channels, H, W) to (B, out_channels, H, W)."""
        if not self._is_product(x):
            return super().forward(x)
        rows = x.permute(0, 2, 3, 1)
        out = F.linear(rows.flatten(0, 2), self.weight.flatten(1), self.bias)
        return out.unflatten(0, rows.shape[:3]).permute(0, 3, 1, 2)

    def _is_product(self, x: Tensor) -> bool:
        if not (prefers_channels_last(x) and is_channels_last(x)):
            return False
        positions = x.shape[0] * x.shape[2] * x.shape[3]
        return positions <= FEW_POSITIONS and self.out_channels <= FEW_CHANNELS


class FoldedValueShortcut(nn.Module):
    """GELU(BN(v)) with the norm as a scale and a shift.

    Unlike a norm layer this takes v as it lies in memory, among q and k.
    """

    def __init__(self, shortcut: ValueShortcut) -> None:
        super().__init__()
        norm = shortcut.norm
        dtype = torch.promote_types(norm.running_var.dtype, torch.float32)
        scale = (norm.running_var.to(dtype) + norm.eps).rsqrt()
        if norm.affine:
            scale = scale * norm.weight
        shift = -norm.running_mean * scale
        if norm.affine:
            shift = shift + norm.bias
        self.register_buffer('scale', scale.unsqueeze(-1))  # (d, 1)
        self.register_buffer('shift', shift.unsqueeze(-1))

    def forward(self, v: Tensor, size: tuple[int, int]) -> Tensor:
        """Map values (B, G, d, N) to the same shape."""
        # addcmul would take twice as long on a CPU.
        return F.gelu((v.to(self.scale.dtype) * self.scale).add_(self.shift)).to(v.dtype)


def _resized(embedding: PositionEmbedding, size: tuple[int, int]) -> Tensor:
    """The embedding (1, G, d, H·W) of a (H, W) map, channels last as the keys are."""
    maps = channels_last(embedding.resized(size))
    return maps.flatten(2).unflatten(1, (embedding.num_groups, -1))


class KeptEmbedding(nn.Module):
    """A positional embedding, resized once.

    Args:
        embedding (PositionEmbedding): The ordinary one.
        size (tuple[int, int], optional): (H, W) of the only maps that it is for. None: of all
            sizes, and the last one is kept.
    """

    def __init__(self, embedding: PositionEmbedding, size: Optional[tuple[int, int]]) -> None:
        super().__init__()
        self.embedding = embedding
        self.size = size
        self._kept: Optional[Tensor] = None
        self._kept_for: Optional[tuple] = None
        if size is not None:
            self.register_buffer('resized', _resized(embedding, size))
            self.embedding = None

    def _apply(self, fn, recurse: bool = True) -> 'KeptEmbedding':
        self._kept = self._kept_for = None  # of another device or dtype
        return super()._apply(fn, recurse)

    def forward(self, k: Tensor, size: tuple[int, int]) -> Tensor:
        """Add the embedding to keys (B, G, d, H·W) of a (H, W) map.

        Raises:
            ValueError: If the map is of another size than the one given at the start.
        """
        if self.size is not None:
            if not becomes_a_graph() and size != self.size:
                raise ValueError(f'this model was deployed for maps of {self.size[0]}×'
                                 f'{self.size[1]} positions here, got {size[0]}×{size[1]}; '
                                 'deploy it without size, or for the size of these images')
            return k + self.resized
        if is_recorded(k, self.embedding.weight):
            return self.embedding(k, size)
        if self._kept_for != size:
            self._kept = _resized(self.embedding, size)
            self._kept_for = size
        return k + self._kept
