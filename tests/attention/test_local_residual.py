import pytest
import torch
import torch.nn.functional as F

from mmqtvit.attention.local_residual import LocalResidual
from mmqtvit.layers import MultiScaleAttention


@pytest.mark.parametrize('size', [(1, 1), (1, 7), (4, 6)])
def test_equals_the_formula(size):
    """Each image weighs the 3×3 neighbourhood of its values with weights of its own."""
    torch.manual_seed(0)
    heads, channels, groups, dim = 2, 8, 4, 4
    residual = LocalResidual(channels, groups * dim, heads).double()
    x = torch.randn(3, channels, *size, dtype=torch.float64)
    v = torch.randn(3, groups, dim, size[0] * size[1], dtype=torch.float64)

    def linear(layer, tokens):  # head by head
        parts = zip(tokens.chunk(heads, 1), layer.weight[..., 0].chunk(heads))
        return torch.cat([part @ weight.T for part, weight in parts], 1) + layer.bias

    first, _, second = residual
    weights = linear(second, F.gelu(linear(first, x.mean((2, 3)))))
    weights = weights.view(3, groups, dim, 1, 3, 3)
    padded = F.pad(v.view(3, groups * dim, *size), (1, 1, 1, 1))
    patches = padded.unfold(2, 3, 1).unfold(3, 3, 1).reshape(3, groups, dim, -1, 3, 3)
    torch.testing.assert_close(residual(x, v), (patches * weights).sum((-1, -2)))


@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.float16])
def test_half_precision(dtype):
    torch.manual_seed(0)
    residual = LocalResidual(8, 16, 2)
    x, v = torch.randn(2, 8, 5, 6), torch.randn(2, 4, 4, 30)
    actual = residual.to(dtype)(x.to(dtype), v.to(dtype))
    assert actual.dtype == dtype
    torch.testing.assert_close(actual.float(), residual.float()(x, v), rtol=0.05, atol=0.05)


@pytest.mark.parametrize('dtype', [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize('scale', [0., 1e-4, 1e3])
def test_finite_in_every_precision(dtype, scale):
    torch.manual_seed(0)
    residual = LocalResidual(8, 16, 2)
    torch.nn.init.normal_(residual[0].weight)
    torch.nn.init.normal_(residual[2].weight)
    x, v = ((scale * torch.rand(shape)).to(dtype).requires_grad_()
            for shape in ((2, 8, 5, 6), (2, 4, 4, 30)))
    out = residual(x, v)
    assert out.dtype == dtype and out.isfinite().all()
    out.float().sum().backward()
    assert x.grad.isfinite().all() and v.grad.isfinite().all()


def test_autocast_does_not_reach_the_arithmetic():
    torch.manual_seed(0)
    residual = LocalResidual(8, 16, 2)
    x, v = torch.randn(2, 8, 5, 6), torch.randn(2, 4, 4, 30)
    with torch.autocast('cpu', torch.bfloat16):
        actual = residual(x, v)
    assert torch.equal(actual, residual(x, v))


@pytest.mark.parametrize('wanted', [False, True])
def test_attention_adds_it_before_the_projection(wanted):
    torch.manual_seed(0)
    attention = MultiScaleAttention(
        8, 4, dict(type='InLineAttention', local_residual=wanted), dict(type='BN')).eval()
    x = torch.randn(2, 8, 3, 5)
    calls = []
    attention.kernel.register_forward_hook(lambda _, args, out: calls.append((args, out)))
    actual = attention(x)
    (_, _, v, _), out = calls[0]
    if wanted:
        out = out + attention.local_residual(x, v)
    else:
        assert attention.local_residual is None
    torch.testing.assert_close(actual, attention.proj(out.reshape(2, 16, 3, 5)))
