"""What OpenMMLab's heads, hooks and optimisers expect of a backbone."""

import copy
import math
import warnings

import pytest
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from mmqtvit import EfficientViT, QTViT

SMALL = {
    series: dict(
        series=series, widths=[8, 8, 16, 32, 64], depths=[1, 2, 2, 2, 2], head_dim=16)
    for series in 'bl'
}


@pytest.fixture(params=['b', 'l'])
def arch(request):
    return SMALL[request.param]


@pytest.fixture(params=[QTViT, EfficientViT])
def backbone(request):
    return request.param


def image(height=64, width=64, batch=2, channels=3):
    return torch.rand(batch, channels, height, width, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize('size', [(32, 32), (33, 47), (427, 640), (64, 144), (1, 1), (31, 5)])
def test_any_size(backbone, arch, size):
    model = backbone(arch).eval()
    with torch.no_grad():
        maps = model(image(*size, batch=1))
    assert isinstance(maps, tuple)
    for level, channels, stride in zip(maps, model.out_channels, model.out_strides):
        sides = tuple(math.ceil(side / stride) for side in size)
        assert level.shape == (1, channels, *sides)
        assert level.isfinite().all()


@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.float16])
def test_half_precision_models(backbone, arch, dtype):
    model = backbone(arch).eval()
    with torch.no_grad():
        expected = model(image())
        maps = model.to(dtype)(image().to(dtype))
    for level, reference in zip(maps, expected):
        assert level.dtype == dtype
        error = (level.float() - reference).norm() / reference.norm()
        assert error < 0.05


def test_autocast_trains(backbone, arch):
    model = backbone(arch)
    with torch.autocast('cpu', torch.bfloat16):
        maps = model(image())
    sum(level.float().mean() for level in maps).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_every_parameter_gets_a_gradient(backbone, arch):
    model = backbone(arch)
    sum(level.square().mean() for level in model(image(64, 96))).backward()
    without = [name for name, p in model.named_parameters()
               if p.grad is None or not p.grad.abs().sum() > 0]
    assert without == []


@pytest.mark.parametrize('out_indices', [(0, ), (3, ), (1, 3), (2, ), [0, 2], (-1, )])
def test_out_indices(backbone, arch, out_indices):
    torch.manual_seed(0)
    full = backbone(arch).eval()
    torch.manual_seed(0)
    model = backbone(arch, out_indices=out_indices).eval()
    model.load_state_dict({k: v for k, v in full.state_dict().items() if k in model.state_dict()})
    with torch.no_grad():
        maps, all_maps = model(image()), full(image())
    assert isinstance(maps, tuple) and len(maps) == len(out_indices)
    for level, index, channels in zip(maps, out_indices, model.out_channels):
        assert torch.equal(level, all_maps[index]) and level.shape[1] == channels
    assert len(model.stages) == max(index % 4 for index in out_indices) + 1


@pytest.mark.parametrize('frozen_stages', [-1, 0, 2, 4])
def test_frozen_stages(backbone, arch, frozen_stages):
    model = backbone(arch, frozen_stages=frozen_stages)
    parts = [model.stem, *model.stages]
    for training in (None, True, False, True):  # None: as constructed
        if training is not None:
            assert model.train(training) is model
        for index, part in enumerate(parts):
            frozen = index <= frozen_stages
            assert all(p.requires_grad is not frozen for p in part.parameters())
            if training is not False:
                assert all(m.training is not frozen for m in part.modules()
                           if isinstance(m, _BatchNorm))


def test_norm_eval(backbone, arch):
    model = backbone(arch, norm_eval=True).train()
    assert model.training
    assert not any(m.training for m in model.modules() if isinstance(m, _BatchNorm))
    assert all(p.requires_grad for p in model.parameters())


def test_recomputing_equals_plain(backbone, arch):
    torch.manual_seed(0)
    plain = backbone(arch)
    recomputed = backbone(arch, with_cp=True)
    recomputed.load_state_dict(plain.state_dict())
    for model in (plain, recomputed):
        torch.manual_seed(1)
        sum(level.square().mean() for level in model(image())).backward()
    for (name, expected), actual in zip(plain.named_parameters(), recomputed.parameters()):
        torch.testing.assert_close(actual.grad, expected.grad, msg=name)
    for (name, expected), actual in zip(plain.named_buffers(), recomputed.buffers()):
        torch.testing.assert_close(actual, expected, msg=name)


def test_forward_and_backward_without_warnings(backbone, arch):
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        model = backbone(arch, with_cp=True)
        sum(level.mean() for level in model(image())).backward()
        model.eval()(image())


@pytest.mark.parametrize('series, eps', [('b', 1e-5), ('l', 1e-7)])
def test_eps_of_every_norm(backbone, series, eps):
    norms = [m for m in backbone(SMALL[series]).modules() if isinstance(m, _BatchNorm)]
    assert norms and {norm.eps for norm in norms} == {eps}
    own = backbone(SMALL[series], norm_cfg=dict(type='BN', eps=1e-3))
    assert {m.eps for m in own.modules() if isinstance(m, _BatchNorm)} == {1e-3}


@pytest.mark.parametrize('norm_type, layer', [('SyncBN', nn.SyncBatchNorm), ('GN', nn.GroupNorm)])
def test_every_norm_follows_norm_cfg(backbone, arch, norm_type, layer):
    extra = dict(num_groups=2) if norm_type == 'GN' else {}
    model = backbone(arch, norm_cfg=dict(type=norm_type, **extra))
    assert not any(type(m) is nn.BatchNorm2d for m in model.modules())
    assert any(type(m) is layer for m in model.modules())
    assert model(image())[-1].isfinite().all()


def test_initial_weights(backbone, arch):
    model = backbone(arch)
    model.init_weights()
    with torch.no_grad():
        convolutions = [m for m in model.modules() if isinstance(m, nn.Conv2d)]
        weights = torch.cat([conv.weight.flatten() for conv in convolutions])
        assert weights.std().item() == pytest.approx(0.02, rel=0.05)
        assert all((conv.bias == 0).all() for conv in convolutions if conv.bias is not None)
        x = model.stem(image())
        for residual in model.stages[3][1:]:  # every residual block is the identity
            y = torch.rand(1, 64, 2, 2)
            assert torch.equal(residual.eval()(y), y)
        assert torch.equal(model.stem[1].eval()(x), x)


def test_building_leaves_the_config_alone(backbone):
    cfg = dict(arch=SMALL['b'], norm_cfg=dict(type='BN', requires_grad=True),
               out_indices=[-1], attention=dict(type='ReLULinear', eps=1e-6))
    before = copy.deepcopy(cfg)
    backbone(**cfg)
    backbone(**cfg)
    assert cfg == before


def test_drop_path_rates():
    model = QTViT('qtvit1', drop_path_rate=0.18)
    rates = [m.drop_path_rate for m in model.modules() if hasattr(m, 'drop_path_rate')]
    # 1 in the stem, then 1 + 2 + 2·3 + 2·4 branches
    assert rates == pytest.approx([0.] + [0.18 * (i + 1) / 17 for i in range(17)])
    model = EfficientViT('l1', drop_path_rate=0.1, num_undropped=2)
    rates = [m.drop_path_rate for m in model.modules() if hasattr(m, 'drop_path_rate')]
    count = 1 + 1 + 1 + 6 + 2 * 6 - 2
    assert rates == pytest.approx([0., 0.] + [0.1 * (i + 1) / count for i in range(count)])


def test_layer_depth():
    model = QTViT(SMALL['b'])
    depths = {name: model.get_layer_depth('backbone.' + name, 'backbone.')
              for name, _ in model.named_parameters()}
    layers = [layer for layer, _ in depths.values()]
    assert layers == sorted(layers) and set(layers) == set(range(max(layers) + 1))
    assert {total for _, total in depths.values()} == {max(layers) + 2}
    assert model.get_layer_depth('head.weight', 'backbone.')[0] == max(layers) + 1


@pytest.mark.parametrize('kwargs, message', [
    (dict(arch='qtvit7'), "one of .*'qtvit1'.*got 'qtvit7'"),
    (dict(arch='b1'), "one of .*'qtvit1'.*got 'b1'"),
    (dict(arch=dict(series='b')), 'exactly series, widths, depths and head_dim'),
    (dict(arch=dict(SMALL['b'], series='x')), "one of .*'b', 'l'.*got 'x'"),
    (dict(arch=dict(SMALL['b'], widths=[8, 16])), '5 positive numbers'),
    (dict(arch=dict(SMALL['b'], depths=[1, 0, 1, 1, 1])), '5 arch depths must .* 1, got 0'),
    (dict(arch=dict(SMALL['b'], head_dim=24)), 'head_dim must divide'),
    (dict(out_indices=(4, )), '0 to 3, got'),
    (dict(out_indices=(-5, )), '0 to 3, got'),
    (dict(out_indices=()), '0 to 3, got'),
    (dict(frozen_stages=5), '-1 to 4, got 5'),
    (dict(frozen_stages='1'), "-1 to 4, got '1'"),
    (dict(drop_path_rate=1.), 'at least 0 and below 1, got 1.0'),
    (dict(drop_path_rate='0.1'), "at least 0 and below 1, got '0.1'"),
    (dict(num_undropped=-1), 'at least 0, got -1'),
    (dict(arch=['qtvit1']), r"one of .* or a dict, got \['qtvit1'\]"),
    (dict(arch=dict(SMALL['b'], widths=8)), '5 positive numbers, got 8'),
    (dict(arch=dict(SMALL['b'], head_dim='16')), "head_dim must be .* at least 1, got '16'"),
    (dict(position_embedding='no'), "position_embedding must be True or False, got 'no'"),
    (dict(value_shortcut='no'), "value_shortcut must be True or False, got 'no'"),
    (dict(attention='ReLULinear'), "attention must be a dict such as .*, got 'ReLULinear'"),
    (dict(attention=dict(type='Softmax2')), 'ReleasedQuadraticTaylor'),
])
def test_wrong_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        QTViT(**kwargs)


def test_unknown_keyword():
    with pytest.raises(TypeError, match='out_index'):
        QTViT(out_index=(0, ))


def test_wrong_input():
    model = QTViT(SMALL['b'])
    with pytest.raises(ValueError, match=r'\(B, 3, H, W\), got \(2, 4, 64, 64\)'):
        model(image(channels=4))
    with pytest.raises(ValueError, match=r'got \(3, 64, 64\)'):
        model(image()[0])


def test_nan_stays_in_its_image():
    images = image()
    images[0, 0, 5, 5] = torch.nan
    maps = QTViT(SMALL['b']).eval()(images)
    assert all(level[0].isnan().any() and level[1].isfinite().all() for level in maps)


def test_frozen_at_random_is_said(monkeypatch):
    said = []
    monkeypatch.setattr('mmqtvit.backbones.efficientvit.print_log',
                        lambda text, **kwargs: said.append(text))
    QTViT(SMALL['b']).init_weights()
    assert said == []
    QTViT(SMALL['b'], frozen_stages=1).init_weights()
    assert 'the stem and 1 stages' in said[0] and 'stay random' in said[0]


def test_efficientvit_is_qtvit_without_its_three_changes():
    torch.manual_seed(0)
    expected = EfficientViT('b0', out_indices=(2, )).eval()
    arch = dict(series='b', widths=[8, 16, 32, 64, 128], depths=[1, 2, 2, 2, 2], head_dim=16)
    model = QTViT(arch, out_indices=(2, ), attention=dict(type='ReLULinear'),
                  position_embedding=False, value_shortcut=False).eval()
    model.load_state_dict(expected.state_dict())
    assert torch.equal(model(image())[0], expected(image())[0])
