"""Properties that every kernel of the table has."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from mmqtvit.attention import KERNELS, SoftmaxResidual, build_kernel
from tests.attention.oracles import ORACLES, explicit
from tests.helpers.kernels import CASES, make_qkv, name_of, sums_to_one

SIZES = [(1, 1), (1, 7), (7, 10), (25, 42)]
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


@pytest.fixture(params=CASES, ids=name_of)
def cfg(request):
    return request.param


@pytest.fixture
def kernel(cfg):
    torch.manual_seed(0)
    return build_kernel(cfg, head_dim=8)


def test_every_kernel_has_an_oracle():
    assert set(ORACLES) == set(KERNELS)


@pytest.mark.parametrize('size', SIZES)
def test_equals_explicit_form(kernel, size):
    kernel = kernel.double()
    # In the largest map one group is enough: the explicit form of Hydra has d·N² weights.
    shape = (2, 3, 8) if size != SIZES[-1] else (1, 1, 8)
    expected_inputs = make_qkv(size, requires_grad=True, shape=shape)
    inputs = make_qkv(size, requires_grad=True, shape=shape)
    expected = explicit(kernel, *expected_inputs, size)
    actual = kernel(*inputs, size)
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)
    cotangent = torch.randn_like(expected)
    parameters = list(kernel.parameters())
    expected_grads = torch.autograd.grad(expected, expected_inputs + parameters, cotangent,
                                         materialize_grads=True, allow_unused=True)
    grads = torch.autograd.grad(actual, inputs + parameters, cotangent,
                                materialize_grads=True, allow_unused=True)
    for grad, expected_grad in zip(grads, expected_grads):
        torch.testing.assert_close(grad, expected_grad, rtol=1e-8, atol=1e-8)


def test_gradcheck(kernel):
    size = (2, 3)
    assert torch.autograd.gradcheck(lambda q, k, v: kernel.double()(q, k, v, size),
                                    make_qkv(size, requires_grad=True))


def test_rows_of_the_weights_sum_to_one(cfg, kernel):
    q, k, v = make_qkv((7, 10))
    kernel = kernel.double()
    if hasattr(kernel, 'depth'):  # adds to what the weights give
        torch.nn.init.zeros_(kernel.depth.weight)
        torch.nn.init.zeros_(kernel.depth.bias)
    ones = torch.ones_like(v)
    close = torch.allclose(kernel(q, k, ones, (7, 10)), ones, rtol=1e-12, atol=1e-12)
    assert close == sums_to_one(cfg)


def test_non_negative_weights_are_told(cfg, kernel):
    """A kernel's weights are its outputs for values that are 1 in one token and 0 elsewhere."""
    kernel = kernel.double().eval()
    if hasattr(kernel, 'depth'):
        torch.nn.init.zeros_(kernel.depth.weight)
        torch.nn.init.zeros_(kernel.depth.bias)
    q, k, _ = make_qkv((1, 8), shape=(50, 1, 8))
    v = torch.eye(8, dtype=q.dtype).expand_as(q)
    smallest = min(kernel(scale * q, k, v, (1, 8)).min() for scale in (1, 3))
    # Those of the compact kernel are non-negative as it starts, but need not stay so.
    may_be_negative = not kernel.non_negative and cfg['type'] != 'CompactQuadraticTaylor'
    assert (smallest < -1e-6) == may_be_negative


@pytest.mark.parametrize('dtype', DTYPES)
@pytest.mark.parametrize('fill', [None, 1.])
def test_finite_in_every_precision(kernel, dtype, fill):
    for scale in (0., 1e-4, 1., 1e3):
        inputs = [x.detach() if fill is None else torch.full_like(x, fill)
                  for x in make_qkv((7, 10))]
        inputs = [(x * scale).to(dtype).requires_grad_() for x in inputs]
        out = kernel(*inputs, (7, 10))
        assert out.dtype == dtype and out.isfinite().all(), scale
        out.float().sum().backward()
        assert all(x.grad.isfinite().all() for x in inputs), scale
        assert all(p.grad.isfinite().all() for p in kernel.parameters()), scale


@pytest.mark.parametrize('dtype', DTYPES)
def test_half_precision_parameters(kernel, dtype):
    inputs = make_qkv((7, 10), torch.float32)
    expected = kernel(*inputs, (7, 10))
    actual = kernel.to(dtype)(*(x.to(dtype) for x in inputs), (7, 10))
    assert actual.dtype == dtype
    torch.testing.assert_close(actual.float(), expected, rtol=0.1, atol=0.1)


def test_autocast_does_not_reach_the_arithmetic(kernel):
    inputs = make_qkv((7, 10), torch.float32)
    with torch.autocast('cpu', torch.bfloat16):
        actual = kernel(*inputs, (7, 10))
    assert torch.equal(actual, kernel(*inputs, (7, 10)))


@pytest.mark.parametrize('name', KERNELS)
def test_trains_in_float16_as_one_compiled_graph(name):
    torch._dynamo.reset()
    kernel = build_kernel(dict(type=name), head_dim=8)
    inputs = [x.half().requires_grad_() for x in make_qkv((2, 3), torch.float32)]
    actual = torch.compile(kernel, fullgraph=True, backend='eager')(*inputs, (2, 3))
    expected = kernel(*inputs, (2, 3))
    assert torch.equal(actual, expected)
    for grads in zip(*(torch.autograd.grad(out.float().sum(), inputs)
                       for out in (actual, expected))):
        torch.testing.assert_close(*grads)


def test_values_near_the_end_of_float16(kernel):
    """With anything added to an average of such values, the sum may lie beyond."""
    kernel.softmax_residual = SoftmaxResidual()
    if hasattr(kernel, 'depth'):
        torch.nn.init.ones_(kernel.depth.weight)
    q, k, v = (x.half() for x in make_qkv((2, 3), torch.float32))
    inputs = [x.requires_grad_() for x in (q, k, v.sign() * 4e4 + 2e4)]
    out = kernel(*inputs, (2, 3))
    assert out.isfinite().all()
    out.float().mean().backward()
    assert all(x.grad.isfinite().all() for x in inputs)


def test_macs_are_those_of_matrix_products_and_convolutions(kernel):
    kernel.eval()
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        kernel(*make_qkv((7, 10), torch.float32), (7, 10))
    assert kernel.macs(3, 70) * 2 == counter.get_total_flops() / 2  # two images; a MAC is 2 FLOPs


def test_macs_are_linear_in_the_tokens(cfg, kernel):
    growth = 4 if cfg['type'] == 'SoftmaxAttention' else 2
    assert kernel.macs(3, 140) == growth * kernel.macs(3, 70) > 0


def test_feature_length_is_that_of_the_features(kernel):
    """The weights, as a matrix of queries by keys, have no higher rank; constants add one."""
    if kernel.feature_length is None or hasattr(kernel, 'depth'):
        return
    kernel, size = kernel.double().eval(), (10, 12)
    q, k, v = make_qkv(size, shape=(1, 1, 8))
    jacobian = torch.autograd.functional.jacobian(
        lambda values: kernel.attend(q, k, values, size)[0, 0, 0], v)[:, 0, 0, 0]
    assert torch.linalg.matrix_rank(jacobian, rtol=1e-9) <= kernel.feature_length + 1


def test_many_tokens(cfg, kernel):
    if cfg['type'] == 'SoftmaxAttention':
        return
    kernel.eval()
    size = (256, 256)
    inputs = make_qkv(size, shape=(1, 1, 8))
    out = kernel(*(x.float() for x in inputs), size)
    expected = kernel.double()(*inputs, size)
    torch.testing.assert_close(out.double(), expected, rtol=1e-3, atol=1e-3)
