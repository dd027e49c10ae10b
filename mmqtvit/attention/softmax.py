"""Softmax attention, and its sparse rest that linear attention can train with."""

import torch.nn.functional as F
from torch import Tensor, nn

from ..checks import check_number
from .kernel import AttentionKernel, register_kernel


@register_kernel
class SoftmaxAttention(AttentionKernel):
    r"""Scaled dot-product attention (Vaswani et al., NeurIPS 2017).

    .. math:: w_{nm} = \exp(\langle q_n, k_m\rangle / \sqrt d) / \sum_m \dots

    The kernel that the others approximate. No finite feature map; O(N² d), by PyTorch's
    ``scaled_dot_product_attention``; weights are positive and sum to 1.

    Hazard: a map of 160×160 positions has 655 million pairs of tokens in each group.

    Args:
        head_dim (int): Channels per group, d.
    """

    non_negative = True
    feature_length = None

    def macs(self, num_groups: int, num_tokens: int) -> int:
        """⟨q, k⟩ takes N²·d, the average of the values the same."""
        return num_groups * num_tokens * num_tokens * 2 * self.head_dim

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        # (B, G, N, d). PyTorch's forms without an N×N matrix want the channels side by side.
        tokens_first = (x.transpose(-1, -2).contiguous() for x in (q, k, v))
        return F.scaled_dot_product_attention(*tokens_first).transpose(-1, -2)


class SoftmaxResidual(nn.Module):
    r"""The strong part of softmax attention, which a linear kernel adds while it trains.

    .. math:: o_n = \sum_m a_{nm} [a_{nm} > τ]\, v_m, \quad
              a_{nm} = \exp(\langle q_n, k_m\rangle / \sqrt d) / \sum_m \dots

    QT-ViT's appendix C and ViTALiTy train with such a residual and drop it in evaluation. The
    paper gives neither the rule of the mask nor the place; this is the rule of Castling-ViT (You
    et al., CVPR 2023), its place beside the kernel, on the same q, k and v. It has no parameters,
    so checkpoints with and without it are the same.

    Time and memory O(N²) in training, for each group. On a map of more than 1/τ tokens an even
    attention is masked out altogether.

    Args:
        threshold (float): τ, in [0, 1). Defaults to 0.02.

    Raises:
        ValueError: If the threshold is out of range.
    """

    def __init__(self, threshold: float = 0.02) -> None:
        super().__init__()
        self.threshold = check_number('threshold of softmax_residual', threshold, least=0, below=1)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Map q, k, v (B, G, d, N) to (B, G, d, N)."""
        scores = q.transpose(-1, -2) @ k / q.shape[-2]**0.5
        weights = scores.softmax(-1)  # (B, G, N, N), queries first
        return v @ F.threshold(weights, self.threshold, 0.).transpose(-1, -2)
