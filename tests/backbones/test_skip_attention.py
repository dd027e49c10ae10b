"""Backbones some of whose attention blocks reuse the attention of the block before."""

import io

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from mmqtvit import EfficientViT, QTViT
from mmqtvit.layers import MultiScaleAttention, SkipAttention

ARCH = dict(series='b', widths=[8, 8, 16, 32, 64], depths=[1, 2, 2, 3, 3], head_dim=16)
SKIPPED = dict(stage3=[1, 2], stage4=[2])


def image(*size):
    return torch.rand(2, 3, *size, generator=torch.Generator().manual_seed(0))


def kinds(model):
    return [[type(block.attention.branch) for block in stage if hasattr(block, 'attention')]
            for stage in model.stages]


def test_which_blocks_are_skipped():
    model = QTViT(ARCH, skip_attention=SKIPPED)
    assert kinds(model) == [[], [], [MultiScaleAttention, SkipAttention, SkipAttention],
                            [MultiScaleAttention, MultiScaleAttention, SkipAttention]]
    l_series = EfficientViT(dict(ARCH, series='l', head_dim=32), skip_attention=dict(stage4=[1]))
    assert kinds(l_series) == [[], [], [], [MultiScaleAttention, SkipAttention,
                                            MultiScaleAttention]]


@pytest.mark.parametrize('unused', [None, {}, dict(stage3=[])])
def test_without_skipped_blocks_nothing_changes(unused):
    torch.manual_seed(0)
    plain = QTViT(ARCH).eval()
    model = QTViT(ARCH, skip_attention=unused).eval()
    model.load_state_dict(plain.state_dict())
    assert all(type(stage) is nn.Sequential for stage in model.stages)
    assert all(map(torch.equal, model(image(33, 47)), plain(image(33, 47))))


@pytest.mark.parametrize('size', [(64, 96), (33, 47), (1, 1)])
def test_every_parameter_gets_a_gradient(size):
    torch.manual_seed(0)
    model = QTViT(ARCH, skip_attention=SKIPPED, drop_path_rate=0.)
    maps = model(image(*size))
    sum(level.square().mean() for level in maps).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    if size == (64, 96):
        assert all(p.grad.abs().sum() > 0 for p in model.parameters())


def test_recomputing_equals_plain():
    torch.manual_seed(0)
    options = dict(skip_attention=SKIPPED, drop_path_rate=0.3)
    plain, recomputed = QTViT(ARCH, **options), QTViT(ARCH, with_cp=True, **options)
    recomputed.load_state_dict(plain.state_dict())
    for model in (plain, recomputed):
        torch.manual_seed(1)
        sum(level.square().mean() for level in model(image(64, 64))).backward()
    for (name, expected), actual in zip(plain.named_parameters(), recomputed.parameters()):
        torch.testing.assert_close(actual.grad, expected.grad, msg=name)
    for (name, expected), actual in zip(plain.named_buffers(), recomputed.buffers()):
        torch.testing.assert_close(actual, expected, msg=name)


def test_frozen_stages_saving_and_layer_depth():
    model = QTViT(ARCH, skip_attention=SKIPPED, frozen_stages=3).train()
    model.init_weights()
    assert not any(p.requires_grad for p in model.stages[2].parameters())
    assert all(p.requires_grad for p in model.stages[3].parameters())
    sum(level.mean() for level in model(image(64, 64))).backward()
    assert all(p.grad is not None for p in model.stages[3].parameters())
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    loaded = QTViT(ARCH, skip_attention=SKIPPED).eval()
    loaded.load_state_dict(torch.load(file, weights_only=True))
    with torch.no_grad():
        assert all(map(torch.equal, loaded(image(64, 64)), model.eval()(image(64, 64))))
    depths = [model.get_layer_depth(name)[0] for name, _ in model.named_parameters()]
    assert depths == sorted(depths)


@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.float16])
def test_half_precision(dtype):
    torch.manual_seed(0)
    model = QTViT(ARCH, skip_attention=SKIPPED).eval()
    with torch.no_grad():
        expected = model(image(64, 96))[-1]
        actual = model.to(dtype)(image(64, 96).to(dtype))[-1]
    assert actual.dtype == dtype
    assert (actual.float() - expected).norm() < 0.05 * expected.norm()


@pytest.mark.parametrize('skipped, message', [
    (dict(stage2=[1]), r"have attention, \['stage3', 'stage4'\], got 'stage2'"),
    ({3: [1]}, r"\['stage3', 'stage4'\], got 3"),
    (dict(stage3=[0]), r'stage3 must list some of \[1, 2\] \(block 0 .*, got \[0\]'),
    (dict(stage4=[1, 3]), r'stage4 must list some of \[1, 2\] .*, got \[1, 3\]'),
    (dict(stage4=[-1]), r'stage4 must list some of \[1, 2\] .*, got \[-1\]'),
    (dict(stage4=1), r'stage4 must list some of \[1, 2\] .*, got 1'),
    (dict(stage3=[True]), r'stage3 must list some of \[1, 2\] .*, got \[True\]'),
    (dict(stage3=[1.0]), r'stage3 must list some of \[1, 2\] .*, got \[1.0\]'),
    *((value, 'skip_attention, unless None, must be a dict such as .*, got ')
      for value in ([1], 5, True, False)),
])
def test_wrong_blocks(skipped, message):
    with pytest.raises(ValueError, match=message):
        QTViT(ARCH, skip_attention=skipped)


def test_a_stage_that_is_not_built_cannot_skip():
    with pytest.raises(ValueError, match=r"\['stage3'\], got 'stage4'"):
        QTViT(ARCH, out_indices=(2, ), skip_attention=SKIPPED)


@pytest.mark.parametrize('stage, share', [(2, 0.68), (3, 0.73)])
def test_multiply_adds_are_as_documented(stage, share):
    model = QTViT(skip_attention=dict(stage3=[1], stage4=[1]))
    channels, side = model.widths[1 + stage], (14, 7)[stage - 2]
    macs = []
    for block in model.stages[stage][1:3]:  # with attention, and skipped
        with FlopCounterMode(display=False) as counter:
            block.attention.branch(torch.rand(2, channels, side, side))
        macs.append(counter.get_total_flops() // 4)  # two images; a MAC is 2 FLOPs
    assert macs[1] == side**2 * (4 * channels**2 + 50 * channels) + 3 * channels
    assert macs[1] / macs[0] == pytest.approx(share, abs=0.005)
