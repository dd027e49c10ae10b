"""Properties that every kernel of the table has."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from mmqtvit.attention import KERNELS, build_kernel
from tests.attention.oracles import ORACLES

SIZES = [(1, 1), (1, 7), (7, 10), (25, 42)]
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


@pytest.fixture(params=sorted(KERNELS))
def kernel(request):
    return build_kernel(dict(type=request.param), head_dim=8)


def make_qkv(size, dtype=torch.float64, requires_grad=False):
    generator = torch.Generator().manual_seed(0)
    shape = (2, 3, 8, size[0] * size[1])
    q, k, v = (torch.randn(shape, generator=generator, dtype=dtype) for _ in range(3))
    for x in (q, k):
        x[:, :, 0].abs_()  # a query without a positive entry has no ReLU weights
    return [x.requires_grad_(requires_grad) for x in (q, k, v)]


def test_every_kernel_has_an_oracle():
    assert set(ORACLES) == set(KERNELS)


@pytest.mark.parametrize('size', SIZES)
def test_equals_explicit_form(kernel, size):
    kernel = kernel.double()
    expected_inputs = make_qkv(size, requires_grad=True)
    inputs = make_qkv(size, requires_grad=True)
    expected = ORACLES[type(kernel).__name__](kernel, *expected_inputs, size)
    actual = kernel(*inputs, size)
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)
    cotangent = torch.randn_like(expected)
    parameters = list(kernel.parameters())
    expected_grads = torch.autograd.grad(expected, expected_inputs + parameters, cotangent)
    grads = torch.autograd.grad(actual, inputs + parameters, cotangent)
    for grad, expected_grad in zip(grads, expected_grads):
        torch.testing.assert_close(grad, expected_grad, rtol=1e-8, atol=1e-8)


def test_gradcheck(kernel):
    size = (2, 3)
    assert torch.autograd.gradcheck(lambda q, k, v: kernel.double()(q, k, v, size),
                                    make_qkv(size, requires_grad=True))


@pytest.mark.parametrize('dtype', DTYPES)
@pytest.mark.parametrize('scale', [0., 1e-4, 1., 1e3])
def test_finite_in_every_precision(kernel, dtype, scale):
    inputs = [(x.detach() * scale).to(dtype).requires_grad_() for x in make_qkv((7, 10))]
    out = kernel(*inputs, (7, 10))
    assert out.dtype == dtype and out.isfinite().all()
    out.float().sum().backward()
    assert all(x.grad.isfinite().all() for x in inputs)


@pytest.mark.parametrize('dtype', DTYPES)
def test_finite_for_constant_maps(kernel, dtype):
    inputs = [torch.full((1, 2, 8, 70), 3., dtype=dtype, requires_grad=True) for _ in range(3)]
    out = kernel(*inputs, (7, 10))
    torch.testing.assert_close(out, inputs[2], rtol=1e-2, atol=0)  # an average of equal values
    out.float().sum().backward()
    assert all(x.grad.isfinite().all() for x in inputs)


def test_autocast_does_not_reach_the_arithmetic(kernel):
    inputs = make_qkv((7, 10), torch.float32)
    with torch.autocast('cpu', torch.bfloat16):
        actual = kernel(*inputs, (7, 10))
    assert torch.equal(actual, kernel(*inputs, (7, 10)))


def test_macs_are_those_of_the_matrix_products(kernel):
    with FlopCounterMode(display=False) as counter:
        kernel(*make_qkv((7, 10), torch.float32), (7, 10))
    assert kernel.macs(3, 70) * 2 == counter.get_total_flops() / 2  # two images; a MAC is 2 FLOPs


def test_many_tokens(kernel):
    size = (256, 256)
    inputs = make_qkv(size)
    out = kernel(*(x.float() for x in inputs), size)
    torch.testing.assert_close(out.double(), kernel(*inputs, size), rtol=1e-4, atol=1e-5)


def test_wrong_type_names_the_choices():
    with pytest.raises(ValueError, match=r"one of \['ReLULinear'.*got 'relu'"):
        build_kernel(dict(type='relu'), 8)
    with pytest.raises(ValueError, match='got None'):
        build_kernel(dict(eps=1e-5), 8)
    with pytest.raises(TypeError, match='epsilon'):
        build_kernel(dict(type='ReLULinear', epsilon=1e-5), 8)
