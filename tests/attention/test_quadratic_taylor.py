"""What the released kernel does not see, and its edges."""

import pytest
import torch

from mmqtvit.attention import ReleasedQuadraticTaylor
from mmqtvit.attention.quadratic_taylor import unit_square
from tests.attention.test_kernels import make_qkv


@pytest.mark.parametrize('scale', [1e-4, 1e3, -1., 2.])
def test_blind_to_sign_and_scale(scale):
    q, k, v = make_qkv((7, 10), torch.float32)
    kernel = ReleasedQuadraticTaylor(8)
    torch.testing.assert_close(
        kernel(scale * q, k * scale, v, (7, 10)), kernel(q, k, v, (7, 10)), rtol=1e-6, atol=1e-6)


def test_zero_token_has_zero_feature_and_gradient():
    x = torch.zeros(1, 1, 8, 3, requires_grad=True)
    u = unit_square(x)
    u.sum().backward()
    assert torch.equal(u, torch.zeros_like(u)) and torch.equal(x.grad, torch.zeros_like(x))


def test_finite_without_any_weight():
    kernel = ReleasedQuadraticTaylor(8)
    torch.nn.init.zeros_(kernel.constant)
    zeros = torch.zeros(1, 1, 8, 3, requires_grad=True)
    out = kernel(zeros, zeros, torch.ones(1, 1, 8, 3), (1, 3))
    out.sum().backward()
    assert torch.equal(out, torch.zeros_like(out))
    assert zeros.grad.isfinite().all() and kernel.constant.grad.isfinite()
