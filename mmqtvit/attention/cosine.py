"""Cosine attention, with groups of channels and with each channel alone (Hydra)."""

from torch import Tensor

from .kernel import register_kernel
from .linear import LinearKernel, channelwise_sum, linear_sum, unit


@register_kernel
class CosineLinear(LinearKernel):
    r"""Weights by the cosine of the angle, QT-ViT's Table 2.

    .. math:: o_n = \tfrac1N \sum_m \langle \hat q_n, \hat k_m\rangle\, v_m, \quad
              \hat x = x / \lVert x \rVert

    Feature length d; O(N d²); weights may be negative and do not sum to 1. The paper does not say
    whether the divisor was kept. Signed cosines can sum up to 0, so here they are divided by the
    number of tokens, which also keeps the output in the range of v at any size of map.

    Hazards: blind to the length of q and k; the gradient of a short token grows as 1/‖x‖.

    Args:
        head_dim (int): Channels per group, d.
    """

    non_negative = False
    divided = False

    @property
    def feature_length(self) -> int:
        return self.head_dim

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        return linear_sum(unit(q), unit(k) / v.shape[-1], v)


@register_kernel
class HydraAttention(LinearKernel):
    r"""Cosine attention with as many heads as channels (Bolya et al., ECCV Workshops 2022).

    .. math:: o_n = \hat q_n ⊙ \sum_m \hat k_m ⊙ v_m, \quad \hat x = x / \lVert x \rVert

    with the norm over the d channels of a group. Feature length 1 for each channel; O(N d); weights
    may be negative and, as in the paper, have no divisor.

    Hazard: the output grows with the number of tokens.

    Args:
        head_dim (int): Channels per group, d.
    """

    non_negative = False

    @property
    def feature_length(self) -> int:
        return 1

    def macs(self, num_groups: int, num_tokens: int) -> int:
        """Two for each entry of v."""
        return num_groups * num_tokens * 2 * self.head_dim

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        return channelwise_sum(unit(q), unit(k), v)
