"""elu + 1 (Linear Transformer)."""

import torch
from torch import Tensor

from .kernel import register_kernel
from .linear import LinearKernel, linear_attention


@register_kernel
class ELULinear(LinearKernel):
    r"""The kernel of "Transformers are RNNs" (Katharopoulos et al., ICML 2020).

    .. math:: φ(x) = elu(x) + 1 = \begin{cases} x + 1 & x > 0 \\ \exp(x) & x ≤ 0 \end{cases}

    Feature length d; O(N d²); weights are non-negative and sum to 1.

    Hazard: where q and k lie so far below 0 that the weights of a query sum to less than 1e-15, all
    entries of q plus those of k under about -35 - ln(N d), the floor of the divisor outweighs them
    and the output is near 0.

    Args:
        head_dim (int): Channels per group, d.
    """

    non_negative = True

    @property
    def feature_length(self) -> int:
        return self.head_dim

    def features(self, x: Tensor) -> Tensor:
        """Map (B, G, d, N) to the features, of the same shape."""
        # Not F.elu(x) + 1, whose sum loses what is left of exp(x) far below 0.
        return torch.where(x > 0, x + 1, x.clamp(max=0).exp())

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        return linear_attention(self.features(q), self.features(k), v)
