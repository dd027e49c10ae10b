"""Absolute positional embedding of the keys."""

from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..compiling import is_compiling


class PositionEmbedding(nn.Module):
    """One learnable vector per channel and position, resized to the map at hand.

    In evaluation the resized map is kept until the size or the weights change; it is never part
    of the state dict.

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
        self._forget()

    def _forget(self) -> None:
        self._resized: Optional[Tensor] = None
        self._resized_from: Optional[tuple] = None

    def train(self, mode: bool = True) -> 'PositionEmbedding':
        # Also on eval(): an averaged model's weights are swapped in through ``.data``, which
        # leaves no other trace, between training and evaluation.
        self._forget()
        return super().train(mode)

    def _apply(self, fn, recurse: bool = True) -> 'PositionEmbedding':
        self._forget()
        return super()._apply(fn, recurse)

    def _resize(self, size: tuple[int, int]) -> Tensor:
        weight = self.weight
        # One compiled graph is for all sizes, so it must not ask whether this is the native one.
        if is_compiling() or weight.shape[-2:] != size:
            dtype = torch.promote_types(weight.dtype, torch.float32)
            rows, columns = (self._interpolation(side, dtype) for side in size)
            with torch.autocast(device_type=weight.device.type, enabled=False):
                weight = (rows @ weight.to(dtype) @ columns.T).to(weight.dtype)
        return weight.flatten(2).unflatten(1, (self.num_groups, -1))

    def _interpolation(self, side: int, dtype: torch.dtype) -> Tensor:
        """The matrix (side, S) of bicubic interpolation from S positions to ``side``.

        Two products with it do what ``F.interpolate`` does, whose gradient is many times slower
        on a CPU.
        """
        native = self.weight.shape[-1]
        identity = torch.eye(native, dtype=dtype, device=self.weight.device)
        return F.interpolate(
            identity[None, None], (side, native), mode='bicubic', align_corners=False)[0, 0]

    def forward(self, size: tuple[int, int]) -> Tensor:
        """Return the embedding of a map.

        Args:
            size (tuple[int, int]): (H, W); at the native size the weights come back unchanged,
                otherwise they are resized bicubically, without antialiasing.

        Returns:
            Tensor: (1, G, d, H·W).
        """
        # A graph that is being recorded must hold the resizing itself, not today's result.
        recorded = torch.jit.is_tracing() or is_compiling()
        if self.training or torch.is_grad_enabled() or recorded:
            return self._resize(size)
        # In-place updates, load_state_dict included, count up the version; a deep copy has its
        # own memory.
        source = (size, self.weight._version, self.weight.data_ptr())
        if self._resized_from != source:
            self._resized, self._resized_from = self._resize(size), source
        return self._resized
