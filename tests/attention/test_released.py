"""What the released kernel does not see, its edges, and its gradient of its own."""

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks

from mmqtvit.attention import ReleasedQuadraticTaylor, released_function
from tests.helpers.kernels import make_qkv


@pytest.mark.parametrize('scale', [1e-4, 1e3, -1., 2.])
def test_blind_to_sign_and_scale(scale):
    q, k, v = make_qkv((7, 10), torch.float32)
    kernel = ReleasedQuadraticTaylor(8)
    torch.testing.assert_close(
        kernel(scale * q, k * scale, v, (7, 10)), kernel(q, k, v, (7, 10)), rtol=1e-6, atol=1e-6)


def test_zero_queries_average_all_values_and_zero_keys_weigh_the_constant_alone():
    """u(0) is 0 with a zero gradient, so only s² is left of the weights."""
    q, k, v = make_qkv((1, 7), requires_grad=True)
    for qk in ((torch.zeros_like(q), k), (q, torch.zeros_like(k))):
        qk = [x.detach().requires_grad_() for x in qk]
        out = ReleasedQuadraticTaylor(8).double()(*qk, v, (1, 7))
        torch.testing.assert_close(out, v.mean(-1, keepdim=True).expand_as(v))
        out.square().sum().backward()
        assert all(torch.equal(x.grad, torch.zeros_like(x)) for x in qk if not x.any())


def test_finite_without_any_weight():
    kernel = ReleasedQuadraticTaylor(8)
    torch.nn.init.zeros_(kernel.constant)
    zeros = torch.zeros(1, 1, 8, 3, requires_grad=True)
    out = kernel(zeros, zeros, torch.ones(1, 1, 8, 3), (1, 3))
    out.sum().backward()
    assert torch.equal(out, torch.zeros_like(out))
    assert zeros.grad.isfinite().all() and kernel.constant.grad.isfinite()


@pytest.mark.parametrize('tokens_at_once', [1, 32, 69])
def test_slices_of_tokens_give_the_same(monkeypatch, tokens_at_once):
    *qkv, grad = (*make_qkv((7, 10), requires_grad=True), torch.randn(2, 3, 8, 70).double())
    kernel = ReleasedQuadraticTaylor(8).double()
    inputs = (*qkv, kernel.constant)
    whole = kernel(*qkv, (7, 10))
    gradients = torch.autograd.grad(whole, inputs, grad)
    monkeypatch.setattr(released_function, 'SLICE', tokens_at_once * 2 * 3 * 8 + 1)
    monkeypatch.setattr(released_function, 'LEAST_TOKENS', 1)
    calls = []
    read = released_function.read
    monkeypatch.setattr(released_function, 'read', lambda *args: calls.append(1) or read(*args))
    sliced = kernel(*qkv, (7, 10))
    assert len(calls) == -(-70 // tokens_at_once)
    torch.testing.assert_close(sliced, whole)
    torch.testing.assert_close(torch.autograd.grad(sliced, inputs, grad), gradients)


def test_slices_are_not_narrow_however_many_images_there_are():
    x = torch.empty(64, 64, 16, 600)
    assert [part.shape[-1] for part, in released_function.slices(x)] == [256, 256, 88]
    x = x[..., :196]
    assert [part.shape[-1] for part, in released_function.slices(x)] == [196]


def test_backward_within_autocast_is_as_precise_as_outside():
    qkv = make_qkv((7, 10), torch.float32, requires_grad=True)
    kernel = ReleasedQuadraticTaylor(8)
    expected = torch.autograd.grad(kernel(*qkv, (7, 10)).square().sum(), qkv)
    with torch.autocast('cpu', torch.bfloat16):
        actual = torch.autograd.grad(kernel(*qkv, (7, 10)).square().sum(), qkv)
    torch.testing.assert_close(actual, expected)


def test_keeps_for_the_backward_pass_what_it_was_given_and_sums_over_the_tokens():
    inputs = make_qkv((7, 10), torch.float32, requires_grad=True)
    kept = {}
    with saved_tensors_hooks(lambda x: kept.update({x.data_ptr(): x.shape[2:]}) or x, lambda x: x):
        kernel = ReleasedQuadraticTaylor(8)
        out = kernel(*inputs, (7, 10))
    for x in (*inputs, kernel.constant):
        del kept[x.data_ptr()]
    assert sorted(kept.values()) == [(8, 1), (8, 1), (8, 8)]
    out.sum().backward()


def test_frozen_inputs_and_a_frozen_scalar():
    q, k, v = make_qkv((7, 10), torch.float32)
    kernel = ReleasedQuadraticTaylor(8).requires_grad_(False)
    assert not kernel(q, k, v, (7, 10)).requires_grad
    expected, = torch.autograd.grad(
        ReleasedQuadraticTaylor(8)(q, k, v.requires_grad_(), (7, 10)).sum(), v)
    actual, = torch.autograd.grad(kernel(q, k, v, (7, 10)).sum(), v)
    torch.testing.assert_close(actual, expected)


def test_traces_without_its_python_parts(tmp_path):
    class Attention(torch.nn.Module):

        def __init__(self):
            super().__init__()
            self.kernel = ReleasedQuadraticTaylor(8)

        def forward(self, q, k, v):
            return self.kernel(q, k, v, (7, 10))

    inputs = make_qkv((7, 10), torch.float32)
    attention = Attention().eval()
    traced = torch.jit.trace(attention, inputs)
    torch.jit.save(traced, tmp_path / 'kernel.pt')  # raises where a Python function is left
    others = [x.flip(-1) for x in inputs]
    torch.testing.assert_close(torch.jit.load(tmp_path / 'kernel.pt')(*others), attention(*others))


def test_second_derivatives_equal_those_of_the_formula():
    inputs = [*make_qkv((1, 7), requires_grad=True), torch.tensor([0.7]).double().requires_grad_()]

    def second(function):
        first = torch.autograd.grad(
            function(*inputs).square().sum(), inputs, create_graph=True)
        return torch.autograd.grad(sum(x.square().sum() for x in first), inputs)

    torch.testing.assert_close(second(released_function.ReleasedAttention.apply),
                               second(released_function.attend))


def test_gradients_of_several_outputs_at_once():
    q, k, v = make_qkv((1, 7), requires_grad=True)
    out = ReleasedQuadraticTaylor(8).double()(q, k, v, (1, 7))
    cotangents = torch.randn(3, *out.shape).double()
    together, = torch.autograd.grad(out, q, cotangents, retain_graph=True, is_grads_batched=True)
    for grad, cotangent in zip(together, cotangents):
        expected, = torch.autograd.grad(out, q, cotangent, retain_graph=True)
        torch.testing.assert_close(grad, expected)


def test_a_scalar_without_dimensions_loads():
    kernel = ReleasedQuadraticTaylor(8)
    kernel.load_state_dict({'constant': torch.tensor(0.3)})
    assert kernel.constant.tolist() == [pytest.approx(0.3)]
