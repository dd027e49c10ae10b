"""The order in which a map's entries lie in memory."""

import torch
from torch import Tensor

from ..compiling import is_compiling

HAS_ONEDNN = torch.backends.mkldnn.is_available()


def prefers_channels_last(x: Tensor) -> bool:
    """Whether convolutions of maps like ``x`` are fastest with the channels last.

    oneDNN's on a CPU are: channel first, they rearrange each map before and after. A graph that is
    being recorded keeps the order of its input, since compilers choose their own and ONNX has but
    one.
    """
    if is_compiling() or torch.jit.is_tracing():
        return False
    return HAS_ONEDNN and x.device.type == 'cpu' and x.dtype is not torch.float64


def is_channels_last(x: Tensor) -> bool:
    """Whether the channels of each position lie side by side. Maps of one position are both."""
    return x.is_contiguous(memory_format=torch.channels_last)


def channels_last(x: Tensor) -> Tensor:
    """Lay out (B, C, H, W) with the channels last."""
    return x.contiguous(memory_format=torch.channels_last)
