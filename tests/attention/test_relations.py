"""What kernels have to do with each other, and what they can tell apart."""

import pytest
import torch

from mmqtvit.attention import build_kernel
from tests.attention.oracles import explicit
from tests.helpers.kernels import make_qkv

SIZE = (7, 10)


def outputs(name, q, k, v, **options):
    kernel = build_kernel(dict(type=name, **options), 8).double().eval()
    return kernel(q, k, v, SIZE)


@pytest.mark.parametrize('name, options', [
    ('PoolingQuadraticTaylor', dict(pool=1)),
    ('ChunkQuadraticTaylor', dict(chunks=1)),
])
def test_reductions_by_one_are_exact(name, options):
    qkv = make_qkv(SIZE)
    exact = outputs('ExactQuadraticTaylor', *qkv)
    torch.testing.assert_close(outputs(name, *qkv, **options), exact, rtol=1e-12, atol=1e-12)
    assert not torch.allclose(outputs(name, *qkv), exact, rtol=1e-3)


def test_exact_is_close_to_softmax_for_small_products():
    q, k, v = make_qkv(SIZE)
    errors = [(outputs('ExactQuadraticTaylor', scale * q, k, v)
               - outputs('SoftmaxAttention', scale * q, k, v)).abs().max()
              for scale in (0.02, 0.01)]
    assert errors[1] < 1e-5 and errors[0] / errors[1] == pytest.approx(8, rel=0.1)  # third order


def compact_weights(alpha, beta, gamma, q, k):
    """The weights before their division, (B, G, N, N)."""
    kernel = build_kernel(dict(type='CompactQuadraticTaylor', alpha=alpha, beta=beta, gamma=gamma),
                          8).double()
    phi_q, phi_k = kernel.features(q), kernel.features(k)
    return phi_q.transpose(-1, -2) @ phi_k + (kernel.gamma**2 + 1) / 2


@pytest.mark.parametrize('alpha, gamma', [(1., 1.), (0.5, 2.), (2., 0.)])
def test_bound_below_which_compact_weights_are_not_negative(alpha, gamma):
    """β⁴ ≤ α²(γ² + 1); the least weight is of q = -k with entries of β/(α d^¼)."""
    bound = (alpha**2 * (gamma**2 + 1))**0.25
    for beta in (0.9 * bound, bound, 1.1 * bound):
        q = torch.full((1, 1, 8, 1), beta / (alpha * 8**0.25)).double()
        least = compact_weights(alpha, beta, gamma, q, -q).item()
        expected = (gamma**2 + 1 - beta**4 / alpha**2) / 2
        assert least == pytest.approx(expected, abs=1e-6)
        assert (least < -1e-6) == (beta > bound)
        q, k, _ = make_qkv(SIZE)
        assert (compact_weights(alpha, beta, gamma, q, k) >= least - 1e-6).all()


@pytest.mark.parametrize('name, tells', [
    ('InLineAttention', True), ('SoftmaxAttention', True), ('ExactQuadraticTaylor', True),
    ('ReLULinear', False), ('ReleasedQuadraticTaylor', False)])
def test_which_kernels_tell_a_query_from_its_double(name, tells):
    q, k, v = make_qkv(SIZE)
    same = torch.allclose(outputs(name, q, k, v), outputs(name, 2 * q, k, v), rtol=1e-6)
    assert same != tells


def test_inline_tells_every_two_queries_apart():
    """Its weights are affine in the query, and here of full rank."""
    q, k, _ = make_qkv(SIZE, shape=(1, 1, 8))
    values = torch.eye(70, dtype=q.dtype)[None, None]  # with these the outputs are the weights
    kernel = build_kernel(dict(type='InLineAttention'), 8)
    jacobian = torch.autograd.functional.jacobian(
        lambda query: kernel.attend(query, k, values, SIZE)[0, 0, :, 0], q[..., :1])
    assert torch.linalg.matrix_rank(jacobian.flatten(1)) == 8


@pytest.mark.parametrize('shift', [0, -5, -20])
def test_elu_keeps_its_precision_far_below_zero(shift):
    """1 + elu(-20) is 0 in float32, where exp(-20) has seven digits."""
    kernel = build_kernel(dict(type='ELULinear'), 8)
    q, k, v = make_qkv(SIZE, requires_grad=True)
    inputs = [x.detach().float().requires_grad_() for x in (q, k, v)]
    actual = kernel(inputs[0] + shift, *inputs[1:], SIZE)
    expected = explicit(kernel, q + shift, k, v, SIZE)
    torch.testing.assert_close(actual.double(), expected, rtol=1e-4, atol=1e-5)
    direction = torch.randn_like(expected)
    grads = torch.autograd.grad(actual, inputs, direction.float())
    for grad, reference in zip(grads, torch.autograd.grad(expected, (q, k, v), direction)):
        torch.testing.assert_close(grad.double(), reference, rtol=1e-3, atol=1e-4)
