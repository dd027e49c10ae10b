"""The one counter of multiply-adds, on single operators and layers."""

import subprocess
import sys

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode

from mmqtvit.analysis.cost import cost

X = torch.rand(1, 3, 5, 7)


class Function(nn.Module):

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize('layer, macs', [
    (nn.Conv2d(3, 8, 3, padding=1), 35 * 9 * 3 * 8),
    (nn.Conv2d(3, 6, 3, padding=1, groups=3), 35 * 9 * 6),
    (nn.Conv2d(3, 8, 3, stride=2), 2 * 3 * 9 * 3 * 8),
    (nn.ConvTranspose2d(3, 8, 2, stride=2), 35 * 4 * 3 * 8),
    (nn.Linear(7, 11), 15 * 7 * 11),
])
def test_layers(layer, macs):
    found = cost(layer, X)
    assert found.macs == macs
    assert found.params == sum(parameter.numel() for parameter in layer.parameters())
    assert torch.equal(found.outputs, layer(X))


@pytest.mark.parametrize('function, macs', [
    (lambda x: x @ x.transpose(-1, -2), 3 * 25 * 7),
    (lambda x: torch.einsum('bchw,bcgw->bchg', x, x), 3 * 25 * 7),
    (lambda x: torch.baddbmm(x.new_zeros(3, 5, 5), x[0], x[0].transpose(-1, -2)), 3 * 25 * 7),
    (lambda x: nn.functional.scaled_dot_product_attention(x, x, x), 2 * 3 * 25 * 7),
    (lambda x: x[0, 0] @ x[0, 0, 0], 35),
    (lambda x: torch.addmv(x[0, 0, :, 0], x[0, 0], x[0, 0, 0]), 35),
    (lambda x: torch.dot(x[0, 0, 0], x[0, 0, 0]), 7),
    (lambda x: torch.addbmm(x.new_zeros(5, 5), x[0], x[0].transpose(-1, -2)), 3 * 25 * 7),
])
def test_products(function, macs):
    assert cost(Function(function), X).macs == macs


@pytest.mark.parametrize('training', [False, True])
def test_transformer_layers(training):
    # In evaluation PyTorch runs each as one operator of its own.
    tokens = torch.rand(2, 5, 16)
    attention = nn.MultiheadAttention(16, 4, batch_first=True).train(training)
    encoder = nn.TransformerEncoderLayer(16, 4, 24, batch_first=True).train(training)
    macs = 2 * (5 * 4 * 16 * 16 + 2 * 5 * 5 * 16)
    assert cost(attention, tokens, tokens, tokens).macs == macs
    assert cost(encoder, tokens).macs == macs + 2 * 5 * 2 * 16 * 24


@pytest.mark.parametrize('fake', [False, True])
def test_softmax_attention_of_timm(fake):
    timm = pytest.importorskip('timm')
    model = timm.create_model('deit_tiny_patch16_224').eval()
    tokens, width, depth = 14 * 14 + 1, 192, 12
    block = tokens * (3 + 1 + 4 + 4) * width**2 + 2 * tokens**2 * width
    ends = 14 * 14 * 3 * 16 * 16 * width + 1000 * width
    x = torch.rand(1, 3, 224, 224)
    if fake:
        with FakeTensorMode(allow_non_fake_inputs=True):
            found = cost(model, x)
    else:
        found = cost(model, x)
    assert found.macs == depth * block + ends
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_parameters_that_want_no_gradient_stay_so():
    layer = nn.Linear(7, 2)
    layer.bias.requires_grad_(False)
    cost(layer, X)
    assert layer.weight.requires_grad and not layer.bias.requires_grad


def test_the_counter_loads_no_toolbox():
    code = 'import sys, mmqtvit.analysis.cost; print(*sys.modules)'
    loaded = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                            check=True).stdout.split()
    assert 'mmqtvit.analysis.cost' in loaded
    assert not {'mmdet', 'mmseg', 'mmpretrain', 'mmcv'} & set(loaded)
