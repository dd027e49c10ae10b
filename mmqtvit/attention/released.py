"""The kernel of the published QT-ViT weights."""

import torch
from torch import Tensor, nn

from ..execution import computes_in_cache, is_recorded
from .kernel import register_kernel
from .linear import LinearKernel
from .released_function import ReleasedAttention, attend, attend_in_slices


@register_kernel
class ReleasedQuadraticTaylor(LinearKernel):
    r"""The kernel that the published QT-ViT weights were trained with.

    .. math:: φ(x) = [u, s], \quad u = x^2 / \lVert x^2 \rVert

    with one learnable scalar s for queries and keys (``constant``, 1 at the start). This is the
    self-multiplication of the paper's Table 3 without the linear term. The published code also
    divides x by its norm first, which changes nothing but the rounding and is left out here.
    Feature length d + 1, the constant included; O(N d²); weights are non-negative and sum to 1.

    Hazard: the kernel sees neither the sign nor the length of q and k: φ(-x) = φ(2x) = φ(x).

    Args:
        head_dim (int): Channels per group, d.
    """

    non_negative = True

    def __init__(self, head_dim: int) -> None:
        super().__init__(head_dim)
        self.constant = nn.Parameter(torch.ones(1))

    @property
    def feature_length(self) -> int:
        return self.head_dim

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        inputs = (q, k, v, self.constant.to(v.dtype))
        if is_recorded(*inputs):
            return attend(*inputs)
        if torch.is_grad_enabled() and any(x.requires_grad for x in inputs):
            return ReleasedAttention.apply(*inputs)
        return attend_in_slices(*inputs)[0] if computes_in_cache(*inputs) else attend(*inputs)
