r"""The cheaper quadratic terms of QT-ViT's Table 3.

Each replaces the d² products Kr(x) of the exact kernel by fewer, R(x), and keeps the constant of
the Taylor series and, unless told otherwise, its linear term:

.. math:: w_{nm} ∝ \tfrac12 \langle R(q), R(k)\rangle / d + \langle q, k\rangle / \sqrt d + 1

The paper does not say whether the linear term was there.
"""

import torch
from torch import Tensor

from ..checks import check_bool, check_divides
from .kernel import register_kernel
from .quadratic_taylor import ExactQuadraticTaylor, products


class ReducedQuadraticTaylor(ExactQuadraticTaylor):
    """Base of the kernels below, which say what :meth:`quadratic` is.

    Args:
        head_dim (int): Channels per group, d.
        linear_term (bool): Whether the weights have the linear term. Defaults to True.

    Raises:
        ValueError: If an option is of another type.
    """

    num_products: int

    def __init__(self, head_dim: int, linear_term: bool = True) -> None:
        super().__init__(head_dim)
        self.linear_term = check_bool('linear_term', linear_term)

    @property
    def feature_length(self) -> int:
        return self.num_products + self.head_dim * self.linear_term

    def features(self, x: Tensor) -> Tensor:
        if self.linear_term:
            return super().features(x)
        return self.quadratic(x / self.head_dim**0.25) / 2**0.5


@register_kernel
class PoolingQuadraticTaylor(ReducedQuadraticTaylor):
    r"""Products of channels that are averaged in neighbouring sets of p.

    .. math:: R(x) = Kr(\bar x), \quad \bar x_i = \tfrac1p (x_{ip + 1} + \dots + x_{ip + p})

    Feature length (d/p)² + d + 1, without the linear term (d/p)² + 1; O(N d³/p²). Weights sum to
    1; without the linear term, or with p = 1, which is the exact kernel, they are positive.

    Hazard: with the linear term and p > 1, q and k that point away from each other while their
    averages vanish have a negative weight.

    Args:
        head_dim (int): Channels per group, d.
        pool (int): p, a divisor of d. Defaults to 2.
        linear_term (bool): Whether the weights have the linear term. Defaults to True.

    Raises:
        ValueError: If p does not divide d.
    """

    def __init__(self, head_dim: int, pool: int = 2, linear_term: bool = True) -> None:
        super().__init__(head_dim, linear_term)
        self.pool = check_divides('pool', pool, head_dim)
        self.num_products = (head_dim // pool)**2
        self.non_negative = pool == 1 or not linear_term

    def quadratic(self, x: Tensor) -> Tensor:
        return products(x.unflatten(-2, (-1, self.pool)).mean(-2))


@register_kernel
class ChunkQuadraticTaylor(ReducedQuadraticTaylor):
    r"""Products within each of c chunks of neighbouring channels.

    .. math:: R(x) = [Kr(x^{(1)}), \dots, Kr(x^{(c)})]

    Feature length d²/c + d + 1, without the linear term d²/c + 1; O(N d³/c). Weights sum to 1;
    c = 1 is the exact kernel. In all they are at least 1 - c/2 before the division: non-negative up
    to c = 2, or without the linear term.

    Hazard: with more chunks and the linear term the divisor can vanish.

    Args:
        head_dim (int): Channels per group, d.
        chunks (int): c, a divisor of d. Defaults to 2.
        linear_term (bool): Whether the weights have the linear term. Defaults to True.

    Raises:
        ValueError: If c does not divide d.
    """

    def __init__(self, head_dim: int, chunks: int = 2, linear_term: bool = True) -> None:
        super().__init__(head_dim, linear_term)
        self.chunks = check_divides('chunks', chunks, head_dim)
        self.num_products = head_dim**2 // chunks
        self.non_negative = chunks <= 2 or not linear_term

    def quadratic(self, x: Tensor) -> Tensor:
        return products(x.unflatten(-2, (self.chunks, -1))).flatten(-3, -2)


@register_kernel
class RandomQuadraticTaylor(ReducedQuadraticTaylor):
    r"""A random choice of d of the d² products, the same for queries, keys and all groups.

    .. math:: R(x) = [x_{i_1} x_{j_1}, \dots, x_{i_d} x_{j_d}]

    The choice is drawn when the kernel is built, from PyTorch's generator, and lies in the state
    dict as ``pairs``. Feature length 2d + 1, without the linear term d + 1; O(N d²). Weights sum
    to 1 and may be negative.

    Hazard: the divisor can vanish.

    Args:
        head_dim (int): Channels per group, d.
        linear_term (bool): Whether the weights have the linear term. Defaults to True.
    """

    non_negative = False

    def __init__(self, head_dim: int, linear_term: bool = True) -> None:
        super().__init__(head_dim, linear_term)
        self.num_products = head_dim
        chosen = torch.randperm(head_dim**2)[:head_dim]
        self.register_buffer('pairs', torch.stack([chosen // head_dim, chosen % head_dim]))

    def quadratic(self, x: Tensor) -> Tensor:
        return x.index_select(-2, self.pairs[0]) * x.index_select(-2, self.pairs[1])
