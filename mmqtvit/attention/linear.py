"""Attention whose weights are inner products of features, in time linear in the tokens."""

from typing import Optional

import torch
from torch import Tensor

from .kernel import AttentionKernel

#: Floor of a divisor whose terms are non-negative.
EPS = 1e-15


def linear_sum(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Tensor:
    r"""Sum up the values with weights :math:`\langle φ(q_n), φ(k_m)\rangle`, undivided.

    .. math:: o_n = \sum_m \langle φ(q_n), φ(k_m)\rangle\, v_m

    Args:
        phi_q (Tensor): Features of the queries, (B, G, f, N).
        phi_k (Tensor): Features of the keys, (B, G, f, N).
        v (Tensor): Values, (B, G, d, N).

    Returns:
        Tensor: (B, G, d, N).
    """
    return (v @ phi_k.transpose(-1, -2)) @ phi_q  # (B, G, d, f), then (B, G, d, N)


def linear_attention(phi_q: Tensor,
                     phi_k: Tensor,
                     v: Tensor,
                     constant: Optional[Tensor] = None,
                     eps: float = EPS) -> Tensor:
    r"""Average the values with weights :math:`\langle φ(q_n), φ(k_m)\rangle + c`.

    .. math:: o_n = \frac{\sum_m (\langle φ(q_n), φ(k_m)\rangle + c)\, v_m}
                         {\sum_m (\langle φ(q_n), φ(k_m)\rangle + c) + ε}

    The keys are summed up first, so no N×N matrix appears; and the constant, which stands for a
    feature that is the same for all tokens, stays outside the matrix products: it adds the sum of
    the values to every numerator and the number of tokens to every divisor.

    Args:
        phi_q (Tensor): Features of the queries, (B, G, f, N).
        phi_k (Tensor): Features of the keys, (B, G, f, N).
        v (Tensor): Values, (B, G, d, N).
        constant (Tensor, optional): c ≥ 0, a scalar or (1, ). Defaults to None, which is 0.
        eps (float): Floor of a divisor whose terms are non-negative. Defaults to 1e-15.

    Returns:
        Tensor: (B, G, d, N).
    """
    numerator = linear_sum(phi_q, phi_k, v)
    divisor = phi_k.sum(-1).unsqueeze(-2) @ phi_q  # (B, G, 1, N)
    if constant is not None:
        numerator = numerator + constant * v.sum(-1, keepdim=True)
        divisor = divisor + constant * v.shape[-1]
    return numerator / (divisor + eps)


def channelwise_sum(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    r"""Sum up over the tokens in each channel alone: :math:`q_n ⊙ \sum_m k_m ⊙ v_m`.

    Args:
        q (Tensor): (B, G, d, N).
        k (Tensor): (B, G, d, N).
        v (Tensor): (B, G, d, N).

    Returns:
        Tensor: (B, G, d, N).
    """
    return linear_sum(*(x.unsqueeze(-2) for x in (q, k, v))).squeeze(-2)


def unit(x: Tensor) -> Tensor:
    """Divide tokens by their Euclidean norm over the channels.

    Args:
        x (Tensor): (..., d, N), float32 or float64.

    Returns:
        Tensor: x/‖x‖, (..., d, N). A token with a norm under 1e-12 becomes 0 with a zero gradient.
    """
    square = x.square().sum(-2, keepdim=True)
    return x * square.where(square > 1e-24, torch.inf).rsqrt()


class LinearKernel(AttentionKernel):
    """Base of the kernels that end in :func:`linear_attention` or :func:`linear_sum`."""

    #: Whether the sum is divided by the sum of the weights, as :func:`linear_attention` does.
    divided = True

    def macs(self, num_groups: int, num_tokens: int) -> int:
        """φ(k)ᵀv takes N·f·d, its product with φ(q) the same, and N·f more with a divisor."""
        columns = 2 * self.head_dim + self.divided
        return num_groups * num_tokens * self.feature_length * columns
