import pytest
import torch
from torch import nn

from mmqtvit.layers import Residual, build_norm
from mmqtvit.layers.conv import ConvNormAct


def branch():
    return ConvNormAct(4, 4, norm_cfg=dict(type='BN'))


def test_residual_starts_as_identity():
    residual = Residual(branch())
    residual.start_as_identity()
    x = torch.randn(2, 4, 3, 3)
    assert torch.equal(residual(x), x)


def test_drop_path_drops_whole_images_and_keeps_the_mean():
    torch.manual_seed(0)
    residual = Residual(nn.Identity(), drop_path_rate=0.25).train()
    out = residual(torch.ones(4000, 1, 1, 2))
    assert torch.equal(out[..., 0], out[..., 1])
    assert sorted(out.unique().tolist()) == pytest.approx([1, 1 + 1 / 0.75])
    assert out.mean().item() == pytest.approx(2, abs=0.05)
    assert torch.equal(residual.eval()(torch.ones(2, 1)), torch.full((2, 1), 2.))


def test_norms():
    norm = build_norm(dict(type='BN', requires_grad=False, eps=1e-7), 8)
    assert norm.eps == 1e-7 and not norm.weight.requires_grad
    assert isinstance(build_norm(dict(type='SyncBN'), 8), nn.SyncBatchNorm)
    assert isinstance(build_norm(dict(type='GN', num_groups=2), 8), nn.GroupNorm)
    with pytest.raises(ValueError, match="needs a 'type'"):
        build_norm(dict(eps=1e-7), 8)
    with pytest.raises(KeyError, match='BatchNorm7d'):
        build_norm(dict(type='BatchNorm7d'), 8)
