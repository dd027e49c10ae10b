"""The deploy form computes the same, and refuses what it would lose."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

import mmqtvit
from mmqtvit import EfficientViT, QTViT
from mmqtvit.deployment import strips
from mmqtvit.deployment.fold import fold_norms
from mmqtvit.deployment.strips import StripMBConv
from mmqtvit.errors import UserError
from mmqtvit.layers import ConvNormAct, MBConv

ARCHS = {
    series: dict(
        series=series, widths=[8, 8, 16, 32, 64], depths=[1, 2, 2, 2, 2], head_dim=16)
    for series in 'bl'
}


def trained(model):
    """Give the norms statistics and weights like a trained model's."""
    for norm in model.modules():
        if isinstance(norm, _BatchNorm):
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            for shift in (norm.bias, norm.running_mean):
                nn.init.normal_(shift, std=0.1)
            nn.init.uniform_(norm.running_var, 0.5, 1.5)
    return model.eval()


@pytest.fixture(params=[(cls, series) for cls in (QTViT, EfficientViT) for series in 'bl'],
                ids=lambda param: f'{param[0].__name__}-{param[1]}')
def model(request):
    cls, series = request.param
    torch.manual_seed(0)
    return trained(cls(ARCHS[series]))


def images(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(0))


def assert_same(maps, expected):
    for level, reference in zip(maps, expected):
        assert (level - reference).norm() <= 1e-5 * reference.norm()


@torch.no_grad()
@pytest.mark.parametrize('size', [None, (96, 130)])
def test_computes_the_same(model, size):
    before = copy.deepcopy(model.state_dict())
    fast = mmqtvit.deploy(model, size=size)
    shapes = [(2, 3, 96, 130), (1, 3, 96, 130)]
    if size is None:
        shapes += [(1, 3, 224, 224), (1, 3, 96, 130), (1, 3, 32, 32)]
    for shape in shapes:
        x = images(*shape)
        assert_same(fast(x), model(x))
        double = x.double()
        assert_same(copy.deepcopy(fast).double()(double), copy.deepcopy(model).double()(double))
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def test_no_norm_is_left_and_nothing_needs_a_gradient(model):
    fast = mmqtvit.deploy(model)
    assert not any(isinstance(part, _BatchNorm) for part in fast.modules())
    assert not any(parameter.requires_grad for parameter in fast.parameters())
    assert not fast.training and model.training is False


@pytest.mark.parametrize('norm_cfg', [dict(type='GN', num_groups=4), dict(type='SyncBN')])
@torch.no_grad()
def test_other_norms(norm_cfg):
    model = trained(QTViT(ARCHS['b'], norm_cfg=norm_cfg, value_shortcut=norm_cfg['type'] != 'GN'))
    x = images(1, 3, 64, 96)
    assert_same(mmqtvit.deploy(model)(x), model(x))


@torch.no_grad()
def test_skipped_attention():
    model = trained(QTViT(ARCHS['b'], skip_attention=dict(stage3=[1], stage4=[1])))
    x = images(2, 3, 64, 96)
    assert_same(mmqtvit.deploy(model)(x), model(x))


def test_is_for_one_size_where_one_is_given():
    fast = mmqtvit.deploy(QTViT(ARCHS['b']), size=(64, 96))
    with pytest.raises(ValueError, match='deployed for maps of 4×6 positions here, got 4×4'):
        fast(images(1, 3, 64, 64))


@torch.no_grad()
@pytest.mark.parametrize('strip', [1, 2000, 20000])
@pytest.mark.parametrize('stride', [1, 2])
@pytest.mark.parametrize('shape', [(1, 8, 17, 30), (2, 8, 30, 17), (1, 8, 1, 1), (1, 8, 2, 40)])
def test_expands_large_maps_strip_by_strip(monkeypatch, strip, stride, shape):
    monkeypatch.setattr(strips, 'STRIP', strip)
    torch.manual_seed(0)
    block = MBConv(8, 12, nn.Hardswish, dict(type='BN'), stride)
    x = images(*shape)
    expected = trained(block)(x)
    fold_norms(block.requires_grad_(False))
    pieces = []
    block.point.register_forward_hook(lambda *_: pieces.append(1) and None)
    assert_same([StripMBConv(block)(x)], [expected])
    assert len(pieces) > 1 or strip == 20000 or shape[2] <= stride


@torch.no_grad()
def test_norms_over_the_whole_map_are_computed_at_once(monkeypatch):
    monkeypatch.setattr(strips, 'STRIP', 1)
    norm_cfg = dict(type='GN', num_groups=2)
    model = QTViT(ARCHS['b'], norm_cfg=norm_cfg).eval()
    assert not [part for part in mmqtvit.deploy(model).modules() if isinstance(part, StripMBConv)]


@torch.no_grad()
def test_keeps_the_embedding_of_the_last_size():
    model = trained(QTViT(ARCHS['b']))
    fast = mmqtvit.deploy(model)
    calls = []
    for part in fast.modules():
        if isinstance(part, mmqtvit.layers.PositionEmbedding):
            part.resized = lambda size, resized=part.resized: calls.append(size) or resized(size)
    for side in (64, 64, 96, 96):
        fast(images(1, 3, side, side))
    assert len(calls) == 2 * 4  # four attention layers, two sizes
    assert list(fast.state_dict()) == list(mmqtvit.deploy(model).state_dict())


@torch.no_grad()
def test_a_trace_is_for_all_sizes():
    model = trained(QTViT(ARCHS['b']))
    fast = mmqtvit.deploy(model)
    fast(images(1, 3, 64, 64))
    traced = torch.jit.trace(fast, images(1, 3, 64, 64))
    for size in ((64, 64), (96, 130)):
        assert_same(traced(images(1, 3, *size)), model(images(1, 3, *size)))


class Detector(nn.Module):
    """A backbone with a neck whose convolution is shared and a head whose is not."""

    def __init__(self):
        super().__init__()
        self.backbone = QTViT(ARCHS['b'])
        conv = nn.Conv2d(64, 8, 1)
        self.neck = nn.ModuleList(
            nn.Sequential(conv, nn.BatchNorm2d(8), nn.ReLU()) for _ in range(2))
        self.head = nn.Sequential(nn.Conv2d(8, 4, 3), nn.BatchNorm2d(4))

    def forward(self, x):
        x = self.backbone(x)[-1]
        return tuple(self.head(level(x)) for level in self.neck)


@torch.no_grad()
def test_a_whole_model_and_a_shared_convolution():
    torch.manual_seed(0)
    model = trained(Detector())
    fast = mmqtvit.deploy(model)
    x = images(1, 3, 128, 160)
    assert_same(fast(x), model(x))
    assert isinstance(fast.head[1], nn.Identity)
    assert [type(branch[1]) for branch in fast.neck] == 2 * [nn.BatchNorm2d]


@torch.no_grad()
def test_mmcvs_conv_module():
    ConvModule = pytest.importorskip('mmcv.cnn').ConvModule

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = QTViT(ARCHS['b'])
            self.first = ConvModule(64, 8, 1, norm_cfg=dict(type='BN'))
            self.last = ConvModule(8, 8, 1, norm_cfg=dict(type='BN'), order=('norm', 'conv', 'act'))

        def forward(self, x):
            return [self.last(self.first(self.backbone(x)[-1]))]

    model = trained(Model())
    fast = mmqtvit.deploy(model)
    assert isinstance(fast.first.norm, nn.Identity)
    assert isinstance(fast.last.norm, nn.BatchNorm2d)
    x = images(1, 3, 64, 96)
    assert_same(fast(x), model(x))


def with_hook(model):
    model.stages[0].register_forward_hook(lambda *_: None)


def with_parametrisation(model):
    nn.utils.parametrizations.weight_norm(model.stem[0].conv)


def with_old_weight_norm(model):
    nn.utils.weight_norm(model.stem[0].conv)


def with_own_forward(model):
    model.stem[0].forward = model.stem[0].forward


def with_another_layer(model):
    class LoRA(nn.Module):
        def __init__(self, conv):
            super().__init__()
            self.conv = conv

    model.stem[0].conv = LoRA(model.stem[0].conv)


@pytest.mark.parametrize('change, message', [
    (with_hook, 'forward hooks of stages.0'),
    (with_parametrisation, 'parametrisation of stem.0.conv'),
    (with_old_weight_norm, 'forward pre hooks of stem.0.conv'),
    (with_own_forward, r'forward that was set on stem\.0'),
    (with_another_layer, r'does not know stem\.0\.conv, a .*LoRA'),
])
def test_refuses_what_it_would_lose(change, message):
    model = QTViT(ARCHS['b'])
    change(model)
    with pytest.raises(UserError, match=message):
        mmqtvit.deploy(model)


def test_refuses_a_model_without_a_backbone():
    with pytest.raises(UserError, match='a model that holds one, got Linear'):
        mmqtvit.deploy(nn.Linear(2, 2))


@pytest.mark.parametrize('size', [224, (224, ), (0, 3), ('a', 'b')])
def test_refuses_a_size_that_is_none(size):
    with pytest.raises(ValueError, match='size'):
        mmqtvit.deploy(QTViT(ARCHS['b']), size=size)


@torch.no_grad()
def test_every_convolution_of_a_block_is_folded(model):
    fast = mmqtvit.deploy(model)
    for layer in fast.modules():
        if isinstance(layer, ConvNormAct) and hasattr(layer, 'norm'):
            assert isinstance(layer.norm, nn.Identity)
