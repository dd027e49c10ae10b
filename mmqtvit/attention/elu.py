"""elu + 1 (Linear Transformer)."""

import torch.nn.functional as F
from torch import Tensor

from .linear import LinearKernel, linear_attention


class ELULinear(LinearKernel):
    r"""The kernel of "Transformers are RNNs" (Katharopoulos et al., ICML 2020).

    .. math:: φ(x) = elu(x) + 1 = \begin{cases} x + 1 & x > 0 \\ \exp(x) & x ≤ 0 \end{cases}

    Feature length d; O(N d²); weights are non-negative and sum to 1.

    Hazard: a query whose entries are all under -35 has weights that the floor of the divisor
    outweighs, and an output near 0.

    Args:
        head_dim (int): Channels per group, d.
    """

    non_negative = True

    @property
    def feature_length(self) -> int:
        return self.head_dim

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        return linear_attention(F.elu(q) + 1, F.elu(k) + 1, v)
