"""Convolutions that are matrix products, and the order in memory that calls for them."""

import pytest
import torch
import torch.nn.functional as F

from mmqtvit.layers import conv as conv_module
from mmqtvit.layers.conv import FEW_CHANNELS, FEW_POSITIONS, Conv2d, ConvNormAct
from mmqtvit.layers.memory_format import (
    HAS_ONEDNN,
    channels_last,
    is_channels_last,
    prefers_channels_last,
)

needs_onednn = pytest.mark.skipif(not HAS_ONEDNN, reason='this PyTorch has no oneDNN')


@pytest.fixture
def products(monkeypatch):
    """The list of the matrix products that convolutions turn to."""
    calls = []

    def linear(*args):
        calls.append(args)
        return F.linear(*args)

    class Functional:
        conv2d = staticmethod(F.conv2d)

    Functional.linear = staticmethod(linear)
    monkeypatch.setattr(conv_module, 'F', Functional)
    return calls


@needs_onednn
@pytest.mark.parametrize('bias', [False, True])
@pytest.mark.parametrize('batch, height, width', [(1, 1, 1), (1, 7, 9), (3, 2, 5)])
def test_small_maps_by_a_product(products, bias, batch, height, width):
    x = torch.randn(batch, 6, height, width)
    layer = Conv2d(6, 10, 1, bias=bias)
    weight = layer.weight
    expected = F.conv2d(x, weight, layer.bias)
    expected_grad, = torch.autograd.grad(expected.square().sum(), weight)
    out = layer(channels_last(x))
    assert len(products) == 1 and is_channels_last(out)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(torch.autograd.grad(out.square().sum(), weight)[0], expected_grad)


@needs_onednn
@pytest.mark.parametrize(
    'shape, layer',
    [((1, 4, 1, FEW_POSITIONS + 1), dict(out_channels=4)),
     ((1, 4, 1, 5), dict(out_channels=FEW_CHANNELS + 1)),
     ((1, 4, 6, 6), dict(out_channels=4, stride=2)), ((1, 4, 6, 6), dict(out_channels=4, groups=2)),
     ((1, 4, 6, 6), dict(out_channels=4, padding=1)),
     ((1, 4, 6, 6), dict(out_channels=4, kernel_size=3, padding=1))],
    ids=['positions', 'channels', 'stride', 'groups', 'padding', 'kernel'])
def test_everything_else_by_a_convolution(products, shape, layer):
    conv = Conv2d(4, **{'kernel_size': 1, **layer})
    x = torch.randn(shape)
    out = conv(channels_last(x))
    assert not products
    torch.testing.assert_close(
        out, F.conv2d(x, conv.weight, conv.bias, conv.stride, conv.padding, groups=conv.groups))
    conv(x)  # channel first, by a convolution too
    assert not products


@needs_onednn
def test_a_folded_norm_is_in_the_product(products):
    layer = ConvNormAct(6, 10, norm_cfg=dict(type='BN')).eval()
    torch.nn.init.uniform_(layer.norm.running_var, 0.5, 1.5)
    torch.nn.init.normal_(layer.norm.running_mean)
    x = torch.randn(2, 6, 5, 5)
    expected = layer.norm(F.conv2d(x, layer.conv.weight))
    torch.testing.assert_close(layer(channels_last(x)), expected)
    assert len(products) == 1 and products[0][2] is not None  # a bias, the norm's shift


def test_which_maps_prefer_channels_last():
    x = torch.rand(1, 3, 4, 4)
    assert prefers_channels_last(x) == prefers_channels_last(x.bfloat16()) == HAS_ONEDNN
    assert not prefers_channels_last(x.double())  # oneDNN has no double precision
    assert not prefers_channels_last(x.to('meta'))
    seen = []

    def record(x):
        seen.append(prefers_channels_last(x))
        return x + 1

    torch.jit.trace(record, x, check_trace=False)
    assert seen == [False]
