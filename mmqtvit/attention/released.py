r"""The attention kernel of the published QT-ViT weights, with a gradient of its own."""

from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ..compiling import is_compiling
from .linear import EPS, LinearKernel


def unit_square(x: Tensor) -> tuple[Tensor, Tensor]:
    """Square each entry and divide by the Euclidean norm of the squares over the channels.

    Args:
        x (Tensor): (..., d, N), float32 or float64.

    Returns:
        tuple[Tensor, Tensor]: x²/‖x²‖, of the shape of x, with 0 for a token of zeros; and
        1/‖x²‖, with 1 in place of d.
    """
    square = x * x
    inverse = _inverse_norm(square, -2)
    return square.mul_(inverse), inverse


def _inverse_norm(square: Tensor, dim: int) -> Tensor:
    # The floor adds 1e-15 to the norm of a token of zeros and less to any other: small enough not
    # to matter at entries of 1e-7, large enough for a zero token to have a zero gradient.
    return (square * square).sum(dim, keepdim=True).add_(1e-30).rsqrt_()


def unit_square_backward(grad: Tensor, along: Tensor, x: Tensor, unit: Tensor, inverse: Tensor,
                         out: Tensor) -> None:
    r"""Write the gradient of :func:`unit_square` to ``out``, and something else to ``grad``.

    .. math:: \bar x = 2 x ⊙ (\bar u - u \langle u, \bar u\rangle) / \lVert x^2\rVert

    ``along`` is the inner product, which some callers have already.
    """
    torch.mul(grad.addcmul_(unit, along, value=-1).mul_(x), 2 * inverse, out=out)


#: Entries of q that a CPU computes at once. Of larger tensors neither its caches nor the allocator
#: keep anything from one step to the next.
SLICE = 2**19

#: Tokens that a slice has at least, however many images and groups there are: narrower ones are
#: read too far apart.
LEAST_TOKENS = 256


def _slices(*tensors: Tensor) -> list[tuple[Tensor, ...]]:
    """Cut tensors (B, G, d, N) along the tokens where they are too large to compute at once."""
    x = tensors[0]
    # A recorded graph must not hold the number of slices that today's size needs.
    if torch.jit.is_tracing() or x.device.type != 'cpu' or x.numel() <= SLICE:
        return [tensors]
    together = max(LEAST_TOKENS, SLICE // x[..., 0].numel())
    return list(zip(*(x.split(together, dim=-1) for x in tensors)))


class Summary(NamedTuple):
    """What the queries ask the keys and values for, with u the unit squares of the keys.

    Args:
        state (Tensor): Sum over the tokens of v uᵀ, (B, G, d, d).
        keys (Tensor): Sum of u, (B, G, d, 1).
        values (Tensor): Sum of v, (B, G, d, 1).
    """
    state: Tensor
    keys: Tensor
    values: Tensor


def _total(parts: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    """Add up tuples entry by entry, in the first one."""
    total, *others = parts
    for part in others:
        for entry, addition in zip(total, part):
            entry.add_(addition)
    return total


def _state_and_keys(k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    u = unit_square(k)[0]
    return v @ u.transpose(-1, -2), u.sum(-1, keepdim=True)


def _sum_up(k: Tensor, v: Tensor) -> Summary:
    state, keys = _total([_state_and_keys(*part) for part in _slices(k, v)])
    return Summary(state, keys, v.sum(-1, keepdim=True))


def _ask(summary: Summary, constant: Tensor, num_tokens: int, q: Tensor,
         out: Optional[Tensor] = None) -> Tensor:
    u = unit_square(q)[0]
    numerator = (summary.state @ u).add_(constant * summary.values)
    divisor = summary.keys.transpose(-1, -2) @ u  # (B, G, 1, N)
    return torch.div(numerator, divisor.add_(constant * num_tokens + EPS), out=out)


def _attend(q: Tensor, k: Tensor, v: Tensor, scalar: Tensor) -> tuple[Tensor, Summary]:
    summary, constant, num_tokens = _sum_up(k, v), scalar * scalar, v.shape[-1]
    if len(_slices(q)) == 1:
        return _ask(summary, constant, num_tokens, q), summary
    out = q.new_empty(q.shape)
    for part in _slices(q, out):
        _ask(summary, constant, num_tokens, *part)
    return out, summary


def _attend_tokens_first(q: Tensor, k: Tensor, v: Tensor, scalar: Tensor) -> Tensor:
    """:func:`_attend` for a compiler, whose convolutions leave the channels last on a CPU.

    Channel first it would write each entry of the features far from the one before. Nothing is in
    place, since the compiler writes the gradient.
    """
    q, k, v = (x.transpose(-1, -2) for x in (q, k, v))  # (B, G, N, d)
    u_q, u_k = (square * _inverse_norm(square, -1) for square in (q * q, k * k))
    constant = scalar * scalar
    numerator = u_q @ (u_k.transpose(-1, -2) @ v) + constant * v.sum(-2, keepdim=True)
    divisor = u_q @ u_k.sum(-2).unsqueeze(-1) + (constant * v.shape[-2] + EPS)  # (B, G, N, 1)
    return (numerator / divisor).transpose(-1, -2)


def _sum_up_backward(grad: Summary, k: Tensor, v: Tensor, grad_k: Tensor, grad_v: Tensor) -> None:
    """Write the gradients of one slice."""
    u, inverse = unit_square(k)
    grad_u = (grad.state.transpose(-1, -2) @ v).add_(grad.keys)
    along = (u * grad_u).sum(-2, keepdim=True)
    unit_square_backward(grad_u, along, k, u, inverse, out=grad_k)
    torch.add(grad.state @ u, grad.values, out=grad_v)


def _ask_backward(summary: Summary, constant: Tensor, num_tokens: int, grad: Tensor, q: Tensor,
                  grad_q: Tensor) -> tuple[Tensor, ...]:
    """Write the gradient of one slice; return its part in those of the four sums asked for.

    o = n/z, with numerator n = state·u + c·values and divisor z = keysᵀ·u + c·N.
    """
    u, inverse = unit_square(q)
    weights = summary.keys.transpose(-1, -2) @ u  # (B, G, 1, N)
    z = weights + (constant * num_tokens + EPS)
    grad_n = grad / z
    grad_u = summary.state.transpose(-1, -2) @ grad_n
    along = (u * grad_u).sum(-2, keepdim=True)
    # -⟨o, grad_n⟩, with o = n/z written out to use the product above
    grad_z = along + (constant * summary.values).transpose(-1, -2) @ grad_n
    grad_z /= -z
    # An outer product; addcmul_ would take seven times as long.
    grad_u.flatten(0, 1).baddbmm_(summary.keys.flatten(0, 1), grad_z.flatten(0, 1))
    unit_square_backward(grad_u, along.addcmul_(weights, grad_z), q, u, inverse, out=grad_q)
    return (grad_n @ u.transpose(-1, -2), u @ grad_z.transpose(-1, -2),
            grad_n.sum(-1, keepdim=True), grad_z.sum())


class _ReleasedAttention(torch.autograd.Function):
    """Keeps q, k, v and their summary for the backward pass and computes the features there again.

    Left to itself PyTorch keeps four tensors of the size of q for each step of the features, and
    the numerator.
    """

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, scalar: Tensor) -> Tensor:
        out, summary = _attend(q, k, v, scalar)
        ctx.save_for_backward(q, k, v, scalar, *summary)
        return out

    @staticmethod
    @once_differentiable  # it writes over its own gradients
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        with torch.autocast(device_type=grad.device.type, enabled=False):
            return _ReleasedAttention._gradients(ctx, grad)

    @staticmethod
    def _gradients(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        q, k, v, scalar, *summary = ctx.saved_tensors
        summary, constant, num_tokens = Summary(*summary), scalar * scalar, v.shape[-1]
        grad_q, grad_k, grad_v = (q.new_empty(q.shape) for _ in range(3))
        state, keys, sum_grad_n, sum_grad_z = _total([
            _ask_backward(summary, constant, num_tokens, *part)
            for part in _slices(grad, q, grad_q)
        ])
        for part in _slices(k, v, grad_k, grad_v):
            _sum_up_backward(Summary(state, keys, constant * sum_grad_n), *part)
        grad_constant = (sum_grad_n * summary.values).sum() + num_tokens * sum_grad_z
        return grad_q, grad_k, grad_v, 2 * scalar * grad_constant


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
        scalar = self.constant.to(v.dtype)
        if is_compiling():
            return _attend_tokens_first(q, k, v, scalar)
        # The gradient is wanted in training alone, and a trace holds no Python functions.
        if torch.is_grad_enabled() and not torch.jit.is_tracing():
            return _ReleasedAttention.apply(q, k, v, scalar)
        return _attend(q, k, v, scalar)[0]
