r"""Quadratic Taylor attention (QT-ViT, NeurIPS 2024).

Softmax attention weighs with exp(t), :math:`t = \langle q, k\rangle / \sqrt d`. These kernels weigh
with its expansion :math:`1 + t + t^2/2`, or with what a cheaper quadratic term makes of it.
"""

from typing import Optional

import torch
from torch import Tensor, nn

from ..checks import check_number
from .kernel import register_kernel
from .linear import LinearKernel, linear_attention


def products(x: Tensor) -> Tensor:
    r"""Kr(x), the products of all pairs of entries: :math:`\langle Kr(a), Kr(b)\rangle = ⟨a, b⟩^2`.

    Args:
        x (Tensor): (..., f, N).

    Returns:
        Tensor: (..., f², N).
    """
    return (x.unsqueeze(-2) * x.unsqueeze(-3)).flatten(-3, -2)


@register_kernel
class ExactQuadraticTaylor(LinearKernel):
    r"""The expansion itself, the paper's Eq. 8.

    .. math:: w_{nm} ∝ 1 + t + t^2/2 = \tfrac12 (t + 1)^2 + \tfrac12, \quad
              φ(x) = [Kr(ϕ(x))/\sqrt2,\, 1/\sqrt2], \quad ϕ(x) = [x/d^{1/4},\, 1]

    Feature length (d + 1)² + 1, which is d² + d + 1 once equal and constant features are merged;
    O(N d³); weights are positive, at least ½ before the division, and sum to 1.

    Hazard: its features take d + 1 times the memory of q and k.

    Args:
        head_dim (int): Channels per group, d.
    """

    non_negative = True

    @property
    def feature_length(self) -> int:
        return self.head_dim**2 + self.head_dim

    def quadratic(self, x: Tensor) -> Tensor:
        """Map (B, G, d, N) to the features of t², (B, G, f, N)."""
        return products(x)

    def features(self, x: Tensor) -> Tensor:
        """Map (B, G, d, N) to all features but the constant."""
        x = x / self.head_dim**0.25
        return torch.cat([self.quadratic(x) / 2**0.5, x], dim=-2)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        return linear_attention(self.features(q), self.features(k), v, v.new_ones(()))


@register_kernel
class CompactQuadraticTaylor(LinearKernel):
    r"""Squares of single channels in place of all products, the paper's Eq. 11.

    .. math:: φ(x) = [\tilde K(x)/\sqrt2,\, 1/\sqrt2], \quad
              \tilde K(x) = [α x^2,\, β (4/d)^{1/4} x,\, γ]

    .. math:: w_{nm} ∝ \tfrac12 \Bigl(α^2 \langle q^2, k^2\rangle
              + \tfrac{2 β^2}{\sqrt d} \langle q, k\rangle + γ^2 + 1\Bigr)

    with learnable α, β, γ, shared by queries and keys. They start at 1, as Eq. 11 has them; the
    quadratic term is then about d times that of the exact kernel. The authors' rebuttal states
    1/√2, 1/√2 and √2 for the merged coefficients α/√2, β/√2 and √((γ² + 1)/2): that is α = β = 1
    and γ = √3, and makes the constant of the weights 2; the Taylor series has 1, as γ = 1 gives.
    All experiments of the paper leave out the linear term (``beta=None``).

    Feature length 2d + 2, merged 2d + 1, without the linear term d + 1; O(N d²). Weights sum to 1.
    Without the linear term they are positive, with it non-negative while β⁴ ≤ α²(γ² + 1).

    Hazard: training may carry the scalars past that bound, where the divisor can vanish.

    Args:
        head_dim (int): Channels per group, d.
        alpha (float): Start of α. Defaults to 1.
        beta (float, optional): Start of β; None leaves out the linear term. Defaults to 1.
        gamma (float): Start of γ. Defaults to 1.

    Raises:
        ValueError: If one of them is no finite number.
    """

    def __init__(self,
                 head_dim: int,
                 alpha: float = 1.,
                 beta: Optional[float] = 1.,
                 gamma: float = 1.) -> None:
        super().__init__(head_dim)
        check_number('alpha', alpha)
        check_number('gamma', gamma)
        if beta is not None:
            check_number('beta, unless None,', beta)
        self.alpha = nn.Parameter(torch.tensor([float(alpha)]))
        self.beta = None if beta is None else nn.Parameter(torch.tensor([float(beta)]))
        self.gamma = nn.Parameter(torch.tensor([float(gamma)]))
        self.non_negative = beta is None

    @property
    def feature_length(self) -> int:
        return self.head_dim if self.beta is None else 2 * self.head_dim

    def features(self, x: Tensor) -> Tensor:
        """Map (B, G, d, N) to all features but the constant."""
        squares = self.alpha.to(x.dtype) / 2**0.5 * x.square()
        if self.beta is None:
            return squares
        return torch.cat([squares, self.beta.to(x.dtype) / self.head_dim**0.25 * x], dim=-2)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        constant = (self.gamma.to(v.dtype).square() + 1) / 2
        return linear_attention(self.features(q), self.features(k), v, constant)
