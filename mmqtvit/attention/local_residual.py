"""The local residual of InLine attention."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..execution import full_precision
from .kernel import parameter_dtype, saturate, wide_dtype, widen


def convolve_each(v: Tensor, weights: Tensor, size: tuple[int, int]) -> Tensor:
    """Convolve every channel of every image with a 3×3 kernel of its own.

    Args:
        v (Tensor): (B, G, d, H·W).
        weights (Tensor): (B, 9·G·d), nine neighbouring entries for a channel.
        size (tuple[int, int]): (H, W).

    Returns:
        Tensor: (B, G, d, H·W).
    """
    batch, groups, head_dim = v.shape[:3]
    channels = batch * groups * head_dim
    maps = v.reshape(1, channels, *size)
    out = F.conv2d(maps, weights.reshape(channels, 1, 3, 3), padding=1, groups=channels)
    return out.view(batch, groups, head_dim, -1)


class LocalResidual(nn.Sequential):
    """A 3×3 convolution of the values with weights of each image's own (InLine, NeurIPS 2024).

    The mean of the block's input over the tokens gives the weights, by two 1×1 convolutions with
    one group for each head, biases, and a GELU between them. The two run in the dtype of their
    parameters; the rest is in float32, or float64 when given that, as in the kernels. What float16
    cannot hold becomes its largest number: the output is of the second order in the block's input.

    Args:
        channels (int): Channels of the block's input, C.
        value_channels (int): Channels of the values, G·d; a multiple of ``heads``.
        heads (int): Groups of the 1×1 convolutions, h.
    """

    def __init__(self, channels: int, value_channels: int, heads: int) -> None:
        super().__init__(
            nn.Conv1d(channels, channels, 1, groups=heads), nn.GELU(),
            nn.Conv1d(channels, 9 * value_channels, 1, groups=heads))

    def forward(self, x: Tensor, v: Tensor) -> Tensor:
        """Convolve the values.

        Args:
            x (Tensor): Input of the block, (B, C, H, W).
            v (Tensor): Values, (B, G, d, H·W).

        Returns:
            Tensor: (B, G, d, H·W) in the dtype of ``v``.
        """
        dtype = wide_dtype(v)
        size = (x.shape[-2], x.shape[-1])
        with full_precision(v):
            means = widen(x, dtype).mean((2, 3)).unsqueeze(-1)  # (B, C, 1)
            weights = super().forward(means.to(parameter_dtype(self)))  # (B, 9·G·d, 1)
            out = convolve_each(widen(v, dtype), weights.squeeze(-1).to(dtype), size)
            if v.dtype is torch.float16:
                out = saturate(out, v.dtype)
        return out.to(v.dtype)
