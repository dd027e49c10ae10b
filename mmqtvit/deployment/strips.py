"""Inverted bottlenecks on large maps, strip by strip."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..execution import computes_in_cache
from ..layers import MBConv

#: Entries of the expanded map that a CPU computes at once. Larger ones leave its caches between
#: one layer and the next, and the allocator gets new pages for each.
STRIP = 2**19


class StripMBConv(nn.Module):
    """An inverted bottleneck that expands a few rows of a large map at a time.

    Args:
        block (MBConv): With norms folded, so that no layer but the depthwise convolution reads more
            than one position.
    """

    def __init__(self, block: MBConv) -> None:
        super().__init__()
        self.block = block
        self.width = block.inverted.conv.out_channels
        self.stride = block.depth.conv.stride[0]

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C, H, W) to (B, C', ceil(H / stride), ceil(W / stride))."""
        batch, _, height, width = x.shape
        if not computes_in_cache(x) or batch * self.width * height * width <= STRIP:
            return self.block(x)
        rows = max(1, STRIP // (batch * self.width * width * self.stride))  # of the output
        ends = range(rows, -(-height // self.stride) + rows, rows)
        return torch.cat([self._strip(x, end - rows, end) for end in ends], dim=2)

    def _strip(self, x: Tensor, first: int, end: int) -> Tensor:
        """Compute the rows from ``first`` to ``end`` of the output, as far as it goes."""
        height = x.shape[2]
        end = min(end, -(-height // self.stride))
        # The 3×3 convolution reads one row more on each side, zeros beyond the map.
        top, bottom = self.stride * first - 1, self.stride * (end - 1) + 2
        expanded = self.block.inverted(x[:, :, max(top, 0):min(bottom, height)])
        beyond = (max(-top, 0), max(bottom - height, 0))
        if any(beyond):
            expanded = F.pad(expanded, (0, 0, *beyond))
        conv, *activation = self.block.depth
        out = F.conv2d(expanded, conv.weight, conv.bias, conv.stride, (0, 1), 1, conv.groups)
        for layer in activation:
            out = layer(out)
        return self.block.point(out)
