r"""The attention kernel of the published QT-ViT weights, with a gradient of its own."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ..compiling import is_compiling
from .linear import EPS, LinearKernel, linear_attention


def unit_square(x: Tensor, dim: int = -2) -> tuple[Tensor, Tensor]:
    """Square each entry and divide by the Euclidean norm of the squares over the channels.

    Args:
        x (Tensor): (..., d, N), or (..., N, d) with ``dim=-1``; float32 or float64.
        dim (int): Dimension of the channels. Defaults to -2.

    Returns:
        tuple[Tensor, Tensor]: x²/‖x²‖, of the shape of x, with 0 for a token of zeros; and
        1/‖x²‖, with 1 in place of d.
    """
    square = x * x
    # The floor adds 1e-15 to the norm of a token of zeros and less to any other: small enough not
    # to matter at entries of 1e-7, large enough for a zero token to have a zero gradient.
    inverse = (square * square).sum(dim, keepdim=True).add_(1e-30).rsqrt_()
    return square.mul_(inverse), inverse


def unit_square_backward(grad: Tensor, x: Tensor, unit: Tensor, inverse: Tensor) -> Tensor:
    r"""Gradient of :func:`unit_square`, written over ``grad``.

    .. math:: \bar x = 2 x ⊙ (\bar u - u \langle u, \bar u\rangle) / \lVert x^2\rVert
    """
    along = (unit * grad).sum(-2, keepdim=True)
    return grad.addcmul_(unit, along, value=-1).mul_(x).mul_(2 * inverse)


#: Entries of q that a CPU computes at once. Of large tensors neither its caches nor the allocator
#: keep anything from one step to the next.
SLICE = 2**20


def _forward(q: Tensor, k: Tensor, v: Tensor, scalar: Tensor) -> Tensor:
    # A recorded graph must not hold the number of slices that today's size needs.
    if q.device.type != 'cpu' or torch.jit.is_tracing():
        return _attend(q, k, v, scalar)
    if is_compiling():
        return _attend_tokens_first(q, k, v, scalar)
    batch, groups, dim, num_tokens = q.shape
    together = max(1, SLICE // (batch * dim * num_tokens))
    if together >= groups:
        return _attend(q, k, v, scalar)
    out = torch.empty(v.shape, dtype=v.dtype)
    for part, *qkv in zip(*(x.split(together, dim=1) for x in (out, q, k, v))):
        part.copy_(_attend(*qkv, scalar))
    return out


def _attend(q: Tensor, k: Tensor, v: Tensor, scalar: Tensor) -> Tensor:
    return linear_attention(unit_square(q)[0], unit_square(k)[0], v, scalar * scalar)


def _attend_tokens_first(q: Tensor, k: Tensor, v: Tensor, scalar: Tensor) -> Tensor:
    """:func:`_attend` for a compiler, whose convolutions leave the channels last on a CPU.

    Channel first it would write each entry of the features far from the one before.
    """
    q, k, v = (x.transpose(-1, -2) for x in (q, k, v))  # (B, G, N, d)
    (u_q, _), (u_k, _) = unit_square(q, dim=-1), unit_square(k, dim=-1)
    constant = scalar * scalar
    numerator = u_q @ (u_k.transpose(-1, -2) @ v) + constant * v.sum(-2, keepdim=True)
    divisor = u_q @ u_k.sum(-2).unsqueeze(-1) + (constant * v.shape[-2] + EPS)  # (B, G, N, 1)
    return (numerator / divisor).transpose(-1, -2)


class _ReleasedAttention(torch.autograd.Function):
    """Keeps q, k and v for the backward pass and computes the features once more there.

    Left to itself PyTorch keeps four tensors of the size of q for each step of the features, and
    the numerator.
    """

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, scalar: Tensor) -> Tensor:
        ctx.save_for_backward(q, k, v, scalar)
        return _forward(q, k, v, scalar)

    @staticmethod
    @once_differentiable  # it writes over its own gradients
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        q, k, v, scalar = ctx.saved_tensors
        constant, num_tokens = scalar * scalar, v.shape[-1]
        u_q, inverse_q = unit_square(q)
        u_k, inverse_k = unit_square(k)
        state = v @ u_k.transpose(-1, -2)  # (B, G, d, d)
        keys, values = u_k.sum(-1, keepdim=True), v.sum(-1, keepdim=True)  # (B, G, d, 1)
        divisor = keys.transpose(-1, -2) @ u_q + (constant * num_tokens + EPS)  # (B, G, 1, N)

        # o = n / z, with numerator n = state·u_q + c·values and divisor z = keysᵀ·u_q + c·N
        grad_n = grad / divisor
        grad_u_q = state.transpose(-1, -2) @ grad_n
        # -⟨o, grad_n⟩, with o = n / z written out to use the product above
        grad_z = (u_q * grad_u_q).sum(-2, keepdim=True)
        grad_z += (constant * values).transpose(-1, -2) @ grad_n
        grad_z /= -divisor
        grad_u_q += keys * grad_z

        grad_state = grad_n @ u_q.transpose(-1, -2)
        grad_keys = u_q @ grad_z.transpose(-1, -2)
        sum_grad_n = grad_n.sum(-1, keepdim=True)
        grad_u_k = (grad_state.transpose(-1, -2) @ v).add_(grad_keys)
        grad_v = (grad_state @ u_k).add_(constant * sum_grad_n)
        grad_constant = (sum_grad_n * values).sum() + num_tokens * grad_z.sum()
        return (unit_square_backward(grad_u_q, q, u_q, inverse_q),
                unit_square_backward(grad_u_k, k, u_k, inverse_k),
                grad_v, 2 * scalar * grad_constant)


class ReleasedQuadraticTaylor(LinearKernel):
    r"""The kernel that the published QT-ViT weights were trained with.

    .. math:: φ(x) = [u, s], \quad u = x^2 / \lVert x^2 \rVert

    with one learnable scalar s for queries and keys (``constant``, 1 at the start). This is the
    self-multiplication of the paper's Table 3 without the linear term. The published code also
    divides x by its norm first, which changes nothing but the rounding and is left out here.
    Feature length d + 1, the constant included; O(N d²); weights are non-negative and sum to 1.

    Hazards: the kernel sees neither the sign nor the length of q and k: φ(-x) = φ(2x) = φ(x). It
    has no second derivative.

    Args:
        head_dim (int): Channels per group, d.
    """

    non_negative = True

    def __init__(self, head_dim: int) -> None:
        super().__init__(head_dim)
        self.constant = nn.Parameter(torch.ones(()))

    @property
    def feature_length(self) -> int:
        return self.head_dim

    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        # The gradient is wanted in training alone, and a trace holds no Python functions.
        plain = torch.jit.is_tracing() or not torch.is_grad_enabled()
        attention = _forward if plain else _ReleasedAttention.apply
        return attention(q, k, v, self.constant.to(v.dtype))
