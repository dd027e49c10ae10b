"""Attention by plain inner products (PolyNL)."""

from torch import Tensor

from .kernel import register_kernel
from .linear import LinearKernel, linear_sum


@register_kernel
class MeanLinear(LinearKernel):
    r"""Inner products, averaged over the tokens: the mean kernel of QT-ViT's Table 2.

    .. math:: o_n = \tfrac1N \sum_m \langle q_n, k_m\rangle\, v_m, \quad φ(x) = x / \sqrt N

    as in PolyNL (Babiloni et al., ICCV 2021). Feature length d; O(N d²); weights may be negative
    and do not sum to 1. The paper does not say whether the divisor was kept; 1/√N would cancel if
    it was, so here it is not.

    Hazard: the output grows with the third power of its inputs, and saturates in float16.

    Args:
        head_dim (int): Channels per group, d.
    """

    non_negative = False
    divided = False

    @property
    def feature_length(self) -> int:
        return self.head_dim

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        return linear_sum(q, k / v.shape[-1], v)
