"""The forms in which a backbone can be run: fused, channels last, compiled, mixed precision."""

import copy

import pytest
import torch
from mmcv.cnn import fuse_conv_bn
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from mmqtvit import EfficientViT, QTViT, execution
from mmqtvit.backbones import efficientvit
from mmqtvit.execution import HAS_ONEDNN, is_channels_last
from mmqtvit.layers import ConvNormAct
from mmqtvit.layers.multi_scale_attention import ValueShortcut

ARCHS = {
    series: dict(
        series=series, widths=[8, 8, 16, 32, 64], depths=[1, 2, 2, 2, 2], head_dim=16)
    for series in 'bl'
}


@pytest.fixture(params=[(cls, series) for cls in (QTViT, EfficientViT) for series in 'bl'],
                ids=lambda param: f'{param[0].__name__}-{param[1]}')
def model(request):
    """A backbone whose norms have statistics and weights like a trained one's."""
    cls, series = request.param
    torch.manual_seed(0)
    model = cls(ARCHS[series])
    for norm in model.modules():
        if isinstance(norm, _BatchNorm):
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            for shift in (norm.bias, norm.running_mean):
                nn.init.normal_(shift, std=0.1)
            nn.init.uniform_(norm.running_var, 0.5, 1.5)
    return model.eval()


def images(height, width, batch=2):
    return torch.rand(batch, 3, height, width, generator=torch.Generator().manual_seed(0))


def assert_same(maps, expected, tolerance):
    for level, reference in zip(maps, expected):
        assert (level.float() - reference).norm() <= tolerance * reference.norm()


@torch.no_grad()
def test_every_pair_of_convolution_and_norm_can_be_fused(model):
    x = images(96, 128)
    expected = model(x)
    fused = fuse_conv_bn(copy.deepcopy(model))
    assert not any(isinstance(layer.norm, _BatchNorm) for layer in fused.modules()
                   if isinstance(layer, ConvNormAct) and hasattr(layer, 'norm'))
    # What remains stands in the shortcuts, after no convolution: there it is a scale and a shift.
    left = [norm for norm in fused.modules() if isinstance(norm, _BatchNorm)]
    shortcuts = [part for part in fused.modules() if isinstance(part, ValueShortcut)]
    assert len(left) == len(shortcuts)
    assert_same(fused(x), expected, 1e-4)


@torch.no_grad()
def test_channels_last_from_image_to_maps(model):
    x = images(96, 128)
    expected = model(x)
    model.to(memory_format=torch.channels_last)
    x = x.contiguous(memory_format=torch.channels_last)
    maps = model(x)
    assert_same(maps, expected, 1e-5)
    assert all(level.is_contiguous(memory_format=torch.channels_last) for level in maps)


@pytest.mark.skipif(not HAS_ONEDNN, reason='this PyTorch has no oneDNN')
@pytest.mark.parametrize('height, width', [(96, 128), (33, 70), (32, 32)])
def test_a_cpu_computes_channels_last_and_returns_the_order_of_the_images(
        monkeypatch, model, height, width):
    x = images(height, width)
    seen = []
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            layer.register_forward_pre_hook(lambda _, args: seen.append(is_channels_last(args[0])))
    maps = model(x)
    assert len(seen) > 20 and all(seen)
    assert all(level.is_contiguous() for level in maps)
    sum(level.square().mean() for level in maps).backward()
    gradient = torch.cat([p.grad.flatten() for p in model.parameters()])

    model.zero_grad()
    for module in (efficientvit, execution):
        monkeypatch.setattr(module, 'prefers_channels_last', lambda x: False)
    seen.clear()
    expected = model(x)
    assert not all(seen)
    assert_same(maps, expected, 1e-5)
    sum(level.square().mean() for level in expected).backward()
    assert_same([gradient], [torch.cat([p.grad.flatten() for p in model.parameters()])], 1e-5)


@pytest.fixture
def compiled_graphs():
    """A function that compiles a model as one graph for any sizes, and the list of its graphs."""
    torch._dynamo.reset()
    graphs = []

    def backend(graph, example_inputs):
        graphs.append(graph)
        return graph

    return lambda model: torch.compile(model, fullgraph=True, backend=backend), graphs


@pytest.mark.parametrize('train', [False, True])
def test_compiles_whole_and_once_for_all_sizes(compiled_graphs, train):
    compile_whole, graphs = compiled_graphs
    model = QTViT(dict(ARCHS['b'], depths=[1] * 5)).train(train)
    compiled = compile_whole(model)
    with torch.set_grad_enabled(train):
        for size in ((224, 224), (96, 160), (256, 224)):
            x = images(*size)
            maps = compiled(x)
            # One graph for the first size, and one more for all others.
            assert len(graphs) == (1 if size == (224, 224) else 2)
            assert_same(maps, model(x), 1e-5)
            if train:
                sum(level.sum() for level in maps).backward()


@torch.no_grad()
def test_one_compilation_where_the_size_is_marked(compiled_graphs):
    compile_whole, graphs = compiled_graphs
    model = QTViT(dict(ARCHS['b'], depths=[1] * 5)).eval()
    compiled = compile_whole(model)
    for size in ((224, 224), (96, 160)):
        x = images(*size)
        for side in (2, 3):
            torch._dynamo.mark_dynamic(x, side)
        assert_same(compiled(x), model(x), 1e-5)
    assert len(graphs) == 1


def test_bfloat16_autocast_trains_close_to_float32(model):
    """The attention computes in float32 whatever is around it."""
    x = images(64, 96)
    expected = model(x)
    with torch.autocast('cpu', torch.bfloat16):
        maps = model(x)
    assert_same(maps, expected, 0.05)
    sum(level.float().square().mean() for level in maps).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
