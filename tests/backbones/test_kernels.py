"""Every kernel in QT-ViT."""

import io

import pytest
import torch

from mmqtvit import EfficientViT, QTViT
from tests.helpers.kernels import CASES, name_of

# QT-ViT-1 with half the channels and fewer blocks.
NARROW = dict(series='b', widths=[8, 16, 32, 64, 128], depths=[1, 2, 2, 1, 2], head_dim=16)


def images():
    return torch.rand(2, 3, 64, 96, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize('arch, cfg', [
    *((NARROW, cfg) for cfg in CASES),
    ('qtvit1', dict(type='CompactQuadraticTaylor')),
    ('qtvit1', dict(type='InLineAttention')),
], ids=lambda value: name_of(value) if 'type' in value else 'narrow' * (value is NARROW) or value)
def test_trains_saves_and_loads(arch, cfg):
    torch.manual_seed(0)
    model = QTViT(arch, attention=cfg)
    maps = model(images())
    assert [tuple(level.shape[2:]) for level in maps] == [(16, 24), (8, 12), (4, 6), (2, 3)]
    sum(level.square().mean() for level in maps).backward()
    without = [name for name, p in model.named_parameters()
               if p.grad is None or not 0 < p.grad.abs().sum() < torch.inf]
    assert without == []

    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    loaded = QTViT(arch, attention=cfg).eval()
    loaded.load_state_dict(torch.load(file, weights_only=True))
    with torch.no_grad():
        for level, expected in zip(loaded(images()), model.eval()(images())):
            assert torch.equal(level, expected)


@pytest.mark.parametrize('position_embedding', [False, True])
@pytest.mark.parametrize('value_shortcut', [False, True])
def test_embedding_and_shortcut_are_independent_of_each_other_and_the_kernel(
        position_embedding, value_shortcut):
    switches = dict(position_embedding=position_embedding, value_shortcut=value_shortcut,
                    attention=dict(type='ReLULinear'))
    torch.manual_seed(0)
    expected = EfficientViT(NARROW, **switches).eval()
    names = [name for name, _ in expected.named_parameters()]
    assert any('position_embedding' in name for name in names) == position_embedding
    assert any('value_shortcut' in name for name in names) == value_shortcut
    model = QTViT(NARROW, **switches).eval()
    assert list(model.state_dict()) == list(expected.state_dict())
    model.load_state_dict(expected.state_dict())
    with torch.no_grad():
        assert all(map(torch.equal, model(images()), expected(images())))
    assert (list(model.state_dict()) == list(EfficientViT(NARROW).state_dict())) == (
        not position_embedding and not value_shortcut)
