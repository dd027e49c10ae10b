"""Angular attention (Castling-ViT)."""

from math import pi

from torch import Tensor

from .kernel import register_kernel
from .linear import LinearKernel, linear_attention, unit


@register_kernel
class AngularLinear(LinearKernel):
    r"""The linear part of the angle between query and key (You et al., CVPR 2023).

    .. math:: w_{nm} ∝ \tfrac12 + \tfrac1π \langle \hat q_n, \hat k_m\rangle, \quad
              φ(x) = [1/\sqrt2,\, \hat x/\sqrtπ], \quad \hat x = x / \lVert x \rVert

    Feature length d + 1; O(N d²); weights are positive, between 0.18 and 0.82 before the division,
    and sum to 1.

    Hazards: no weight is more than 4.5 times another; blind to the length of q and k; the gradient
    of a short token grows as 1/‖x‖.

    Args:
        head_dim (int): Channels per group, d.
    """

    non_negative = True

    @property
    def feature_length(self) -> int:
        return self.head_dim

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        return linear_attention(unit(q) / pi, unit(k), v, v.new_full((), 0.5))
