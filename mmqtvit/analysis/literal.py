"""The published form of the released attention, step by step, as a baseline for its speed."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..attention import AttentionKernel


class LiteralQuadraticTaylor(AttentionKernel):
    """What :class:`mmqtvit.attention.ReleasedQuadraticTaylor` computes, as it was published.

    Tokens are brought to the front and back, q and k are normalised twice, the constant is
    concatenated to their features and ones to the values, and one product each is taken.

    Args:
        head_dim (int): Channels per group, d.
    """

    non_negative = True

    def __init__(self, head_dim: int) -> None:
        super().__init__(head_dim)
        self.constant = nn.Parameter(torch.ones(()))

    @property
    def feature_length(self) -> int:
        return self.head_dim + 1

    def macs(self, num_groups: int, num_tokens: int) -> int:
        """Both products have f = d + 1 features and d + 1 columns."""
        return 2 * num_groups * num_tokens * self.feature_length * (self.head_dim + 1)

    def _features(self, x: Tensor) -> Tensor:
        x = x / (x.norm(dim=-1, keepdim=True) + 1e-15)
        square = x * x
        square = square / (square.norm(dim=-1, keepdim=True) + 1e-15)
        ones = torch.ones_like(square[..., :1])
        return torch.cat([square, self.constant * ones], dim=-1)  # (B, G, N, d + 1)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        q, k, v = (x.transpose(-1, -2) for x in (q, k, v))
        v = F.pad(v, (0, 1), value=1.)  # (B, G, N, d + 1)
        state = self._features(k).transpose(-1, -2) @ v
        out = self._features(q) @ state
        out = out[..., :-1] / (out[..., -1:] + 1e-15)
        return out.transpose(-1, -2)
