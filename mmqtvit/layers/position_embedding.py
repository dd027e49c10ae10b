"""Absolute positional embedding of the keys."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..execution import becomes_a_graph, channels_last, full_precision, has_channels_inside


def bicubic_matrix(source: int, target: int, like: Tensor) -> Tensor:
    """The matrix (target, source) of bicubic interpolation, in the dtype and on the device."""
    identity = torch.eye(source, dtype=like.dtype, device=like.device)
    return F.interpolate(
        identity[None, None], (target, source), mode='bicubic', align_corners=False)[0, 0]


def resize_bicubic(maps: Tensor, size: tuple[int, int]) -> Tensor:
    """Resize maps (B, C, S, T) to (B, C, H, W), without antialiasing, in float32 or float64.

    Two products with matrices do what ``F.interpolate`` does, whose gradient is many times slower
    on a CPU.
    """
    wide = maps.to(torch.promote_types(maps.dtype, torch.float32))
    with full_precision(maps):
        rows, columns = (bicubic_matrix(source, target, wide)
                         for source, target in zip(maps.shape[-2:], size))
        return (rows @ wide @ columns.T).to(maps.dtype)


class PositionEmbedding(nn.Module):
    """One learnable vector per channel and position, resized to the map at hand.

    Args:
        num_groups (int): Groups of channels, G.
        head_dim (int): Channels per group, d.
        native_size (int): Side of the square map that the weights are made for.
    """

    def __init__(self, num_groups: int, head_dim: int, native_size: int) -> None:
        super().__init__()
        self.num_groups = num_groups
        self.weight = nn.Parameter(
            torch.zeros(1, num_groups * head_dim, native_size, native_size))

    def resized(self, size: tuple[int, int]) -> Tensor:
        """The embedding as a map, (1, G·d, H, W)."""
        # A graph is for all sizes, so it must not ask whether this is the native one.
        if not becomes_a_graph() and self.weight.shape[-2:] == size:
            return self.weight
        return resize_bicubic(self.weight, size)

    def forward(self, k: Tensor, size: tuple[int, int]) -> Tensor:
        """Add the embedding to the keys.

        Args:
            k (Tensor): Keys, (B, G, d, H·W).
            size (tuple[int, int]): (H, W); at the native size the weights are added as they are,
                otherwise they are resized bicubically, without antialiasing.

        Returns:
            Tensor: (B, G, d, H·W).
        """
        embedding = self.resized(size)
        if has_channels_inside(k):
            # A copy in another order takes a third of the time of a sum of two orders.
            embedding = channels_last(embedding)
        return k + embedding.flatten(2).unflatten(1, (self.num_groups, -1))
