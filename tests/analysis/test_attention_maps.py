import cv2
import numpy as np
import pytest
import torch
from torch import nn

from mmqtvit import QTViT
from mmqtvit.analysis.attention_maps import (
    AttentionMap,
    KernelCall,
    attention_weights,
    compute_maps,
    find_attention,
    load_backbone,
    make_map,
    plot_maps,
    record_call,
    to_input,
)
from mmqtvit.analysis.operators import LITERAL, build
from mmqtvit.attention import KERNELS
from mmqtvit.errors import UserError

from ..helpers.archs import ARCHS
from ..helpers.toy import write_toy

IMAGE = np.random.default_rng(0).integers(0, 255, (40, 60, 3), np.uint8)


@pytest.mark.parametrize('name', [*KERNELS, LITERAL])
def test_weights_are_what_the_kernel_does_with_each_value(name):
    torch.manual_seed(0)
    size, groups, dim = (3, 5), 2, 4
    q, k, v = torch.randn(3, 1, groups, dim, 15, dtype=torch.float64)
    kernel = build(name, dim).eval().double()
    weights = torch.stack([attention_weights(kernel, (q, k, v, size), n) for n in range(15)], 1)
    assert weights.shape == (groups, 15, 15)
    if hasattr(kernel, 'depth'):  # a convolution beside the weights
        nn.init.zeros_(kernel.depth.weight)
        nn.init.zeros_(kernel.depth.bias)
    with torch.no_grad():  # the value of one token is 1, of the others 0
        columns = [kernel(q, k, values.expand_as(v), size).mean(2)[0]
                   for values in torch.eye(15, dtype=torch.float64)]
    assert torch.allclose(weights, torch.stack(columns, -1), atol=1e-10)


class Itself(nn.Module):
    """Each query attends to its own token alone."""

    head_dim = 2

    def attend(self, q, k, v, size):
        return v * torch.arange(1, v.shape[1] + 1).view(1, -1, 1, 1)


@pytest.mark.parametrize(('position', 'expected'), [
    ((0.5, 0.5), (0, 0)), ((15.5, 16.5), (1, 0)), ((79.5, 31.5), (1, 4)), ((69.5, 33.5), (2, 4))])
def test_a_pixel_finds_its_token(position, expected):
    v = torch.randn(1, 3, 2, 15)
    call = KernelCall('title', Itself(), (v, v, v, (3, 5)), 16)
    shown = make_map(call, position)
    assert shown.weights.shape == (3, 5) and shown.title == 'title'
    assert np.argwhere(shown.weights).tolist() == [list(expected)]
    assert shown.weights[expected] == pytest.approx(15 * 2)  # over the mean weight; mean of groups
    assert make_map(call, position, group=2).weights[expected] == pytest.approx(15 * 3)
    with pytest.raises(UserError, match='--group 3: there are 3, 0 to 2'):
        make_map(call, position, group=3)


def test_finding_an_attention_block():
    backbone = QTViT(ARCHS['b'])
    attention, stride = find_attention(backbone, None, -1)
    assert attention is backbone.stages[2][2].attention.branch and stride == 16
    attention, stride = find_attention(backbone, 4, 0)
    assert attention is backbone.stages[3][1].attention.branch and stride == 32
    with pytest.raises(UserError, match='--stage 2 has no attention; stages that have: 3, 4'):
        find_attention(backbone, 2, 0)
    with pytest.raises(UserError, match='--block 2: stage 3 has 2 attention blocks, 0 to 1'):
        find_attention(backbone, None, 2)


def test_probing_leaves_the_model_as_it_was():
    backbone = QTViT(ARCHS['b']).eval()
    attention, stride = find_attention(backbone, 4, 0)
    call = record_call('name', backbone, attention, stride, torch.rand(1, 3, 40, 70))
    assert call.args[3] == (2, 3) and call.args[0].shape[-1] == 6
    assert not attention.kernel._forward_pre_hooks


def test_input():
    image = np.full((4, 6, 3), (10, 20, 30), np.uint8)
    scaled = to_input(image, (8, 12), (30., 20., 10.), (1., 2., 4.), to_rgb=True)
    assert scaled.shape == (1, 3, 8, 12) and not scaled.any()
    assert to_input(image, (2, 2), (0.,) * 3, (1.,) * 3, to_rgb=False)[0, 0, 0, 0] == 10


def test_a_model_of_a_config_with_its_checkpoint(tmp_path, capsys):
    path = write_toy(tmp_path)
    backbone, scaling = load_backbone(path)
    assert scaling == dict(mean=[128.] * 3, std=[64.] * 3, to_rgb=True)
    state = {f'backbone.{key}': value + 1 for key, value in backbone.state_dict().items()}
    del state['backbone.stages.3.1.attention.branch.kernel.constant']
    torch.save(dict(state_dict=state), tmp_path / 'weights.pth')
    loaded, _ = load_backbone(path, str(tmp_path / 'weights.pth'))
    assert torch.equal(loaded.stem[0].conv.weight, backbone.stem[0].conv.weight + 1)
    said = capsys.readouterr().out
    assert 'entries loaded; missing' in said
    assert 'random: stages.*.*.attention.branch.kernel.constant (1)' in said
    maps = compute_maps(IMAGE, [path, f'{path}={tmp_path}/weights.pth'], (59, 39), (80, 120),
                        ['ReLULinear:eps=1e-5'])
    assert [shown.title.split('\n')[0] for shown in maps] == [
        'ReleasedQuadraticTaylor', 'ReleasedQuadraticTaylor', 'ReLULinear:eps=1e-5']
    assert 'random weights' in maps[0].title and 'weights.pth' in maps[1].title
    assert all(shown.weights.shape == (5, 8) for shown in maps)
    assert all(shown.weights.mean() == pytest.approx(1, abs=1e-3) for shown in maps[:2])


def test_two_runs_draw_the_same():
    kernels = ['RandomQuadraticTaylor', 'FocusedLinear']
    maps = [compute_maps(IMAGE, ['b0'], (30, 20), (64, 96), kernels) for _ in range(2)]
    assert all(np.array_equal(one.weights, other.weights) for one, other in zip(*maps))
    assert all(shown.weights.mean() == pytest.approx(1, abs=1e-3) for shown in maps[0][1:])


def test_a_kernel_that_a_config_imports(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / 'twice_relu.py').write_text(
        'from mmqtvit.attention import KERNELS\n'
        "KERNELS['TwiceReLU'] = type('TwiceReLU', (KERNELS['ReLULinear'], ), {})\n")
    path = write_toy(tmp_path)
    with open(path, 'a') as file:
        file.write("custom_imports = dict(imports=['mmqtvit', 'twice_relu'])\n")
    try:
        maps = compute_maps(IMAGE, [path], (30, 20), (64, 96), ['TwiceReLU', 'ReLULinear'])
        assert np.array_equal(maps[1].weights, maps[2].weights)
        assert maps[1].title.startswith('TwiceReLU')
    finally:
        KERNELS.pop('TwiceReLU', None)


def test_kernels_are_checked_before_models_run(monkeypatch):
    monkeypatch.setattr('mmqtvit.analysis.attention_maps.record_call', pytest.fail)
    with pytest.raises(UserError, match="no kernel 'Soft'"):
        compute_maps(IMAGE, ['b0'], (3, 3), (40, 60), ['Soft'])


def test_mistakes():
    with pytest.raises(UserError, match='--query 60 3 is outside of the image, which is 60 wide'):
        compute_maps(IMAGE, ['b0'], (60, 3), (40, 60))
    pytest.importorskip('timm')
    with pytest.raises(UserError, match='efficientvit_b0 has a FeatureListNet, not a backbone'):
        load_backbone('timm:efficientvit_b0')


@pytest.mark.parametrize('count', [1, 5])
def test_picture(tmp_path, count):
    weights = np.arange(-6., 6.).reshape(3, 4)
    maps = [AttentionMap(f'map {number}', weights + 8 * (number % 2), 16)
            for number in range(count)]
    plot_maps(IMAGE, (40, 60), (30, 20), maps, tmp_path / 'new' / 'map.png')
    picture = cv2.imread(str(tmp_path / 'new' / 'map.png'))
    assert picture.shape[1] == 120 * 4 * min(4, 1 + count) and picture.std() > 5
