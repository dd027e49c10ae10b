"""ReLU linear attention (EfficientViT, ICCV 2023)."""

from torch import Tensor

from ..checks import check_number
from .kernel import register_kernel
from .linear import LinearKernel, linear_attention


@register_kernel
class ReLULinear(LinearKernel):
    r"""EfficientViT's kernel, :math:`φ(x) = \max(x, 0)`.

    Feature length d; O(N d²); weights are non-negative. A query without a positive entry gets 0.
    φ(2x) = 2φ(x), so the weights do not see the length of a query.

    Args:
        head_dim (int): Channels per group, d.
        eps (float): Floor of the divisor, above 0. Defaults to 1e-15 as published; timm has 1e-5.

    Raises:
        ValueError: If eps is not a positive number.
    """

    non_negative = True

    def __init__(self, head_dim: int, eps: float = 1e-15) -> None:
        super().__init__(head_dim)
        self.eps = check_number('eps', eps, above=0)

    @property
    def feature_length(self) -> int:
        return self.head_dim

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        return linear_attention(q.relu(), k.relu(), v, eps=self.eps)
