"""The local residual of InLine attention."""

import torch.nn.functional as F
from torch import Tensor, nn


class LocalResidual(nn.Sequential):
    """A 3×3 convolution of the values with weights of each image's own (InLine, NeurIPS 2024).

    The mean of the block's input over the tokens gives the weights, by two 1×1 convolutions with
    one group for each head, biases, and a GELU between them.

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
            Tensor: (B, G, d, H·W).
        """
        weights = super().forward(x.mean((2, 3)).unsqueeze(-1))  # (B, 9·G·d, 1)
        maps = v.reshape(1, -1, *x.shape[-2:])  # (1, B·G·d, H, W)
        out = F.conv2d(maps, weights.reshape(-1, 1, 3, 3), padding=1, groups=maps.shape[1])
        return out.view(v.shape)
