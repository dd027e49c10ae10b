"""Sigmoid of the queries, softmax of the keys (AFT-Simple)."""

import torch.nn.functional as F
from torch import Tensor

from ..checks import check_bool
from .kernel import register_kernel
from .linear import LinearKernel, channelwise_sum, linear_sum


@register_kernel
class SigmoidSoftmax(LinearKernel):
    r"""The sigmoid–softmax kernel of QT-ViT's Table 2.

    .. math:: w_{nm} = \langle σ(q_n), a_m\rangle / \sum_i σ(q_{ni}), \quad
              a_{mi} = \exp(k_{mi}) / \sum_{m'} \exp(k_{m'i})

    The softmax runs over the tokens, so the divisor is known beforehand. Feature length d;
    O(N d²); weights are non-negative and sum to 1.

    AFT-Simple itself (Zhai et al., 2021, arXiv 2105.14103) is elementwise,
    :math:`o_n = σ(q_n) ⊙ \sum_m a_m ⊙ v_m`: O(N d), feature length 1 for each channel, weights that
    sum to σ(q).

    Hazard: one key far above the others takes all the weight of its channel.

    Args:
        head_dim (int): Channels per group, d.
        elementwise (bool): Whether to compute AFT-Simple itself. Defaults to False.

    Raises:
        ValueError: If the option is no bool.
    """

    non_negative = True
    divided = False

    def __init__(self, head_dim: int, elementwise: bool = False) -> None:
        super().__init__(head_dim)
        self.elementwise = check_bool('elementwise', elementwise)

    @property
    def feature_length(self) -> int:
        return 1 if self.elementwise else self.head_dim

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        if self.elementwise:
            return channelwise_sum(q.sigmoid(), k.softmax(-1), v)
        # σ(q) over its sum, for queries of which every sigmoid is 0 in float32 too.
        return linear_sum(F.logsigmoid(q).softmax(-2), k.softmax(-1), v)
