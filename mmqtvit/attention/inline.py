"""Injective linear attention (InLine), and the first-order Taylor expansion."""

from typing import Optional

from torch import Tensor, nn

from ..checks import check_bool, check_choice
from .kernel import register_kernel
from .linear import LinearKernel, linear_sum
from .local_residual import LocalResidual

#: exp stops at this input, since float32 holds neither its product nor its sums beyond.
EXP_LIMIT = 20.

FEATURE_MAPS = {
    'identity': lambda x: x,
    'relu': nn.functional.relu,
    'exp': lambda x: x.clamp(max=EXP_LIMIT).exp(),
}


@register_kernel
class FirstOrderTaylor(LinearKernel):
    r"""The first-order expansion of exp on centred keys (ViTALiTy, Dass et al., HPCA 2023).

    .. math:: w_{nm} = \tfrac1N \bigl(1 + \langle q_n, k_m - \bar k\rangle / \sqrt d\bigr), \quad
              φ(x) = [1, x/d^{1/4}]

    Centred keys leave softmax attention as it is, and make the divisor N. Feature length d + 1;
    O(N d²); weights may be negative and sum to 1.

    Hazard: the output grows with the third power of its inputs, and saturates in float16.

    Args:
        head_dim (int): Channels per group, d.
    """

    non_negative = False
    divided = False

    @property
    def feature_length(self) -> int:
        return self.head_dim

    def features(self, x: Tensor) -> Tensor:
        """Map (B, G, d, N) to what the inner products are taken of."""
        return x

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        keys = self.features(k)
        centred = (keys - keys.mean(-1, keepdim=True)) / (v.shape[-1] * self.head_dim**0.5)
        return v.mean(-1, keepdim=True) + linear_sum(self.features(q), centred, v)


@register_kernel
class InLineAttention(FirstOrderTaylor):
    r"""Attention that tells every two queries apart (Han et al., NeurIPS 2024).

    .. math:: w_{nm} = \tfrac sN \Bigl(\langle φ(q_n), φ(k_m)\rangle
              - \tfrac1N \sum_{m'} \langle φ(q_n), φ(k_{m'})\rangle\Bigr) + \tfrac1N, \quad
              s = 1/\sqrt d

    With φ the identity this is the first-order Taylor kernel. Feature length d, O(N d²); weights
    may be negative and sum to 1. Where the centred keys span all d features, two queries have the
    same weights only if φ does not tell them apart.

    The local residual adds, beside the kernel, a 3×3 neighbourhood of v with weights from the
    mean of the block's input; see :class:`LocalResidual`.

    Hazard: the output grows with the third power of its inputs, and saturates in float16.

    Args:
        head_dim (int): Channels per group, d.
        feature_map (str): φ: 'identity', 'relu' or 'exp' (of at most 20). Defaults to 'identity'.
        local_residual (bool): Whether the layer adds the local residual. Defaults to True.

    Raises:
        ValueError: If the feature map is unknown or the other option no bool.
    """

    def __init__(self,
                 head_dim: int,
                 feature_map: str = 'identity',
                 local_residual: bool = True) -> None:
        super().__init__(head_dim)
        self.feature_map = check_choice('feature_map', feature_map, FEATURE_MAPS)
        self.local_residual = check_bool('local_residual', local_residual)

    def input_branch(self, channels: int, value_channels: int, heads: int) -> Optional[nn.Module]:
        if not self.local_residual:
            return None
        return LocalResidual(channels, value_channels, heads)

    def features(self, x: Tensor) -> Tensor:
        return FEATURE_MAPS[self.feature_map](x)
