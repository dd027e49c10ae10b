"""Attention whose weights are inner products of features, in time linear in the tokens."""

from typing import Optional

import torch
from torch import Tensor

from .kernel import AttentionKernel


def linear_attention(phi_q: Tensor,
                     phi_k: Tensor,
                     v: Tensor,
                     constant: Optional[Tensor] = None,
                     eps: float = 1e-15) -> Tensor:
    r"""Average the values with weights :math:`\langle φ(q_n), φ(k_m)\rangle + c`.

    .. math:: o_n = \frac{\sum_m (\langle φ(q_n), φ(k_m)\rangle + c)\, v_m}
                         {\sum_m (\langle φ(q_n), φ(k_m)\rangle + c) + ε}

    The keys are summed up first, so no N×N matrix appears; and the constant, which stands for a
    feature that is the same for all tokens, adds one column to that sum instead of one row to
    every token.

    Args:
        phi_q (Tensor): Features of the queries, (B, G, f, N).
        phi_k (Tensor): Features of the keys, (B, G, f, N).
        v (Tensor): Values, (B, G, d, N).
        constant (Tensor, optional): c, a scalar ≥ 0. Defaults to None, which is 0.
        eps (float): Floor of a divisor whose terms are non-negative. Defaults to 1e-15.

    Returns:
        Tensor: (B, G, d, N).
    """
    batch, groups, dim, num_tokens = v.shape
    keys_values = v @ phi_k.transpose(-1, -2)  # (B, G, d, f)
    keys = phi_k.sum(-1).unsqueeze(-2)  # (B, G, 1, f)
    state = torch.cat([keys_values, keys], dim=-2).flatten(0, 1)  # (B·G, d + 1, f)
    queries = phi_q.flatten(0, 1)  # (B·G, f, N)
    if constant is None:
        sums = torch.bmm(state, queries)  # (B·G, d + 1, N): numerators, then the divisor
    else:
        values = constant * v.sum(-1, keepdim=True)  # (B, G, d, 1)
        count = (constant * num_tokens).expand(batch, groups, 1, 1)
        shared = torch.cat([values, count], dim=-2).flatten(0, 1)  # (B·G, d + 1, 1)
        sums = torch.baddbmm(shared, state, queries)
    numerator, divisor = sums.split([dim, 1], dim=1)
    return (numerator / (divisor + eps)).unflatten(0, (batch, groups))


class LinearKernel(AttentionKernel):
    """Base of the kernels that end in :func:`linear_attention`."""

    def macs(self, num_groups: int, num_tokens: int) -> int:
        """φ(k)ᵀv takes N·f·d, its product with φ(q), divisor included, N·f·(d + 1)."""
        return num_groups * num_tokens * self.feature_length * (2 * self.head_dim + 1)
