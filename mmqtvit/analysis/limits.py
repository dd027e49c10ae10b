"""How fast a machine could be: what it copies and multiplies in a second."""

import statistics
from collections.abc import Callable
from typing import NamedTuple

import torch

from ..attention import AttentionKernel
from .timing import timed

REPEATS = 7


class Limits(NamedTuple):
    """What a device does in a second.

    Args:
        bytes (float): Read or written, in a copy of a tensor that no cache holds.
        macs (float): Multiply-adds of a large float32 matrix product.
    """
    bytes: float
    macs: float

    def seconds(self, kernel: AttentionKernel, groups: int, num_tokens: int,
                itemsize: int) -> float:
        """The least time that a kernel can take, by the tighter of two bounds.

        It has to read q, k and v and to write its output, and it has to multiply. Tensors that a
        cache holds may be read faster than this.

        Args:
            kernel (AttentionKernel): Tells its multiply-adds.
            groups (int): Number of groups, G.
            num_tokens (int): Number of tokens, N.
            itemsize (int): Bytes of a number.
        """
        moved = 4 * groups * kernel.head_dim * num_tokens * itemsize
        return max(moved / self.bytes, kernel.macs(groups, num_tokens) / self.macs)


def measure_limits(device: torch.device) -> Limits:
    """Copy a large tensor and multiply two large matrices."""
    large = device.type != 'cpu'  # for an accelerator
    source = torch.rand(2**(28 if large else 25), device=device)
    target = torch.empty_like(source)
    copying = _median(lambda: target.copy_(source), device)
    side = 8192 if large else 1024
    matrix = torch.rand(side, side, device=device)
    product = torch.empty_like(matrix)
    multiplying = _median(lambda: torch.mm(matrix, matrix, out=product), device)
    return Limits(2 * source.nbytes / copying, side**3 / multiplying)


def _median(call: Callable, device: torch.device) -> float:
    timed(call, device)
    return statistics.median(timed(call, device) for _ in range(REPEATS))
