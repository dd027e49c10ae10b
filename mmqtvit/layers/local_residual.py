"""The local residual of InLine attention."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..attention.kernel import saturate, widen


def _linear(layer: nn.Conv1d, x: Tensor) -> Tensor:
    """Apply a 1×1 convolution to (B, C, 1) in the dtype of ``x``."""
    return F.conv1d(x, layer.weight.to(x.dtype), layer.bias.to(x.dtype), groups=layer.groups)


class LocalResidual(nn.Sequential):
    """A 3×3 convolution of the values with weights of each image's own (InLine, NeurIPS 2024).

    The mean of the block's input over the tokens gives the weights, by two 1×1 convolutions with
    one group for each head, biases, and a GELU between them. As in the kernels the arithmetic is in
    float32, or float64 when given that, and what float16 cannot hold becomes its largest number:
    the output is of the second order in the block's input.

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
        dtype = torch.promote_types(v.dtype, torch.float32)
        with torch.autocast(device_type=v.device.type, enabled=False):
            means = widen(x, dtype).mean((2, 3)).unsqueeze(-1)  # (B, C, 1)
            first, act, second = self
            weights = _linear(second, act(_linear(first, means)))  # (B, 9·G·d, 1)
            maps = widen(v, dtype).reshape(1, -1, *x.shape[-2:])  # (1, B·G·d, H, W)
            out = F.conv2d(maps, weights.reshape(-1, 1, 3, 3), padding=1, groups=maps.shape[1])
            if v.dtype is torch.float16:
                out = saturate(out, v.dtype)
        return out.view(v.shape).to(v.dtype)
