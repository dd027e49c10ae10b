"""Quadratic Taylor attention (QT-ViT, NeurIPS 2024)."""

import torch
from torch import Tensor, nn

from .linear import LinearKernel, linear_attention


def unit_square(x: Tensor) -> Tensor:
    """Square each entry and divide by the Euclidean norm of the squares over the channels.

    Args:
        x (Tensor): (..., d, N), float32 or float64.

    Returns:
        Tensor: x²/‖x²‖, (..., d, N), with 0 for a token of zeros.
    """
    square = x * x
    # The floor adds 1e-15 to the norm of a token of zeros and less to any other: small enough not
    # to matter at entries of 1e-7, large enough for a zero token to have a zero gradient.
    norm = (square * square).sum(-2, keepdim=True).add_(1e-30).sqrt_()
    # A multiplication of all entries is faster than a division.
    return square * norm.reciprocal()


class ReleasedQuadraticTaylor(LinearKernel):
    r"""The kernel that the published QT-ViT weights were trained with.

    .. math:: φ(x) = [u, s], \quad u = x^2 / \lVert x^2 \rVert

    with one learnable scalar s for queries and keys (``constant``, 1 at the start). This is the
    self-multiplication of the paper's Table 3 without the linear term. The published code also
    divides x by its norm first, which changes nothing but the rounding and is left out here.
    Feature length d + 1, the constant included; O(N d²); weights are non-negative.

    The kernel sees neither the sign nor the length of q and k: φ(-x) = φ(2x) = φ(x).

    Args:
        head_dim (int): Channels per group, d.
    """

    non_negative = True

    def __init__(self, head_dim: int) -> None:
        super().__init__(head_dim)
        self.constant = nn.Parameter(torch.ones(()))

    @property
    def feature_length(self) -> int:
        return self.head_dim

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        constant = self.constant.to(v.dtype)
        return linear_attention(unit_square(q), unit_square(k), v, constant * constant)
