"""The released kernel as functions of tensors: plain, in slices, and with a gradient of its own."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..execution import computes_in_cache, full_precision, is_recorded
from .linear import EPS

#: Entries of q that a CPU computes at once. Of larger tensors neither its caches nor the allocator
#: keep anything from one step to the next.
SLICE = 2**19

#: Tokens that a slice has at least, however many images and groups there are: narrower ones are
#: read too far apart.
LEAST_TOKENS = 256


def unit_square(x: Tensor) -> tuple[Tensor, Tensor]:
    """Square each entry and divide by the Euclidean norm of the squares over the channels.

    Args:
        x (Tensor): (..., d, N), float32 or float64.

    Returns:
        tuple[Tensor, Tensor]: x²/‖x²‖, of the shape of x, with 0 for a token of zeros; and
        1/‖x²‖, with 1 in place of d.
    """
    square = x * x
    # The floor adds 1e-15 to the norm of a token of zeros and less to any other: small enough not
    # to matter at entries of 1e-7, large enough for a zero token to have a zero gradient.
    inverse = ((square * square).sum(-2, keepdim=True) + 1e-30).rsqrt()
    return square * inverse, inverse


def unit_square_backward(grad: Tensor, along: Tensor, x: Tensor, unit: Tensor,
                         inverse: Tensor) -> Tensor:
    r"""The gradient of :func:`unit_square`.

    .. math:: \bar x = 2 x ⊙ (\bar u - u \langle u, \bar u\rangle) / \lVert x^2\rVert

    ``along`` is the inner product, which some callers have already.
    """
    return torch.addcmul(grad, unit, along, value=-1) * x * (2 * inverse)


class Summary(NamedTuple):
    """The sums over all keys and values that the queries read, with u the unit squares of the keys.

    Args:
        state (Tensor): Sum over the tokens of v uᵀ, (B, G, d, d).
        keys (Tensor): Sum of u, (B, G, d, 1).
        values (Tensor): Sum of v, (B, G, d, 1).
    """
    state: Tensor
    keys: Tensor
    values: Tensor


def summarise(k: Tensor, v: Tensor) -> Summary:
    """Sum over the tokens of (B, G, d, N)."""
    u = unit_square(k)[0]
    return Summary(v @ u.transpose(-1, -2), u.sum(-1, keepdim=True), v.sum(-1, keepdim=True))


def read(summary: Summary, constant: Tensor, num_tokens: int, q: Tensor) -> Tensor:
    """Compute the outputs of queries (B, G, d, n) to ``num_tokens`` keys, with the constant s²."""
    u = unit_square(q)[0]
    numerator = summary.state @ u + constant * summary.values
    divisor = summary.keys.transpose(-1, -2) @ u + (constant * num_tokens + EPS)  # (B, G, 1, n)
    return numerator / divisor


def attend(q: Tensor, k: Tensor, v: Tensor, scalar: Tensor) -> Tensor:
    """Compute the kernel's output (B, G, d, N), with the scalar s, (1, )."""
    return read(summarise(k, v), scalar * scalar, v.shape[-1], q)


def slices(*tensors: Tensor) -> list[tuple[Tensor, ...]]:
    """Cut tensors (B, G, d, N) along the tokens where they are too large to compute at once."""
    x = tensors[0]
    if x.numel() <= SLICE or not computes_in_cache(*tensors):
        return [tensors]
    together = max(LEAST_TOKENS, SLICE // x[..., 0].numel())
    return list(zip(*(x.split(together, dim=-1) for x in tensors)))


def _total(parts: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    return tuple(sum(entries[1:], entries[0]) for entries in zip(*parts))


def _join(parts: list[Tensor]) -> Tensor:
    return torch.cat(parts, dim=-1) if len(parts) > 1 else parts[0]


def attend_in_slices(q: Tensor, k: Tensor, v: Tensor, scalar: Tensor) -> tuple[Tensor, Summary]:
    """Do :func:`attend` slice by slice, and return the summary too."""
    summary = Summary(*_total([summarise(*part) for part in slices(k, v)]))
    constant = scalar * scalar
    out = _join([read(summary, constant, v.shape[-1], *part) for part in slices(q)])
    return out, summary


def _summarise_backward(grad: Summary, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of one slice of k and v."""
    u, inverse = unit_square(k)
    grad_u = grad.state.transpose(-1, -2) @ v + grad.keys
    along = (u * grad_u).sum(-2, keepdim=True)
    return unit_square_backward(grad_u, along, k, u, inverse), grad.state @ u + grad.values


def _read_backward(summary: Summary, constant: Tensor, num_tokens: int, grad: Tensor,
                   q: Tensor) -> tuple[Tensor, ...]:
    """Return the gradient of one slice of q, and its part in those of the four sums that it reads.

    o = n/z, with numerator n = state·u + c·values and divisor z = keysᵀ·u + c·N.
    """
    u, inverse = unit_square(q)
    weights = summary.keys.transpose(-1, -2) @ u  # (B, G, 1, N)
    z = weights + (constant * num_tokens + EPS)
    grad_n = grad / z
    grad_u = summary.state.transpose(-1, -2) @ grad_n
    along = (u * grad_u).sum(-2, keepdim=True)
    # -⟨o, grad_n⟩, with o = n/z written out to use the product above
    grad_z = -(along + (constant * summary.values).transpose(-1, -2) @ grad_n) / z
    grad_u = torch.baddbmm(  # an outer product; addcmul would take seven times as long
        grad_u.flatten(0, 1), summary.keys.flatten(0, 1), grad_z.flatten(0, 1)).view(q.shape)
    grad_q = unit_square_backward(grad_u, along + weights * grad_z, q, u, inverse)
    return (grad_q, grad_n @ u.transpose(-1, -2), u @ grad_z.transpose(-1, -2),
            grad_n.sum(-1, keepdim=True), grad_z.sum().view(1))


class ReleasedAttention(torch.autograd.Function):
    """Keeps q, k, v and their summary for the backward pass and computes the features there again.

    Left to itself PyTorch keeps four tensors of the size of q for each step of the features, and
    the numerator.
    """

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, scalar: Tensor) -> Tensor:
        out, summary = attend_in_slices(q, k, v, scalar)
        ctx.save_for_backward(q, k, v, scalar, *summary)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        q, k, v, scalar, *summary = ctx.saved_tensors
        inputs = (q, k, v, scalar)
        with full_precision(grad):
            # Grad mode is on where the gradient itself is to be differentiated.
            if torch.is_grad_enabled() or is_recorded(grad):
                return ReleasedAttention._by_autograd(ctx, inputs, grad)
            return ReleasedAttention._by_formula(inputs, Summary(*summary), grad)

    @staticmethod
    def _by_autograd(ctx: Any, inputs: tuple, grad: Tensor) -> tuple:
        create_graph = torch.is_grad_enabled()
        wanted = [x for x, needed in zip(inputs, ctx.needs_input_grad) if needed]
        with torch.enable_grad():
            gradients = iter(torch.autograd.grad(
                attend(*inputs), wanted, grad, create_graph=create_graph))
        return tuple(next(gradients) if needed else None for needed in ctx.needs_input_grad)

    @staticmethod
    def _by_formula(inputs: tuple, summary: Summary, grad: Tensor) -> tuple:
        q, k, v, scalar = inputs
        constant, num_tokens = scalar * scalar, v.shape[-1]
        grad_q, *sums = zip(*(_read_backward(summary, constant, num_tokens, *part)
                              for part in slices(grad, q)))
        state, keys, sum_grad_n, sum_grad_z = _total(list(zip(*sums)))
        grad_summary = Summary(state, keys, constant * sum_grad_n)
        grad_k, grad_v = zip(*(_summarise_backward(grad_summary, *part) for part in slices(k, v)))
        grad_constant = (sum_grad_n * summary.values).sum() + num_tokens * sum_grad_z
        return _join(grad_q), _join(grad_k), _join(grad_v), 2 * scalar * grad_constant
