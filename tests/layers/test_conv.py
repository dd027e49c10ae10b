"""The activation of a convolution block overwrites what nobody else may hold, and nothing else."""

import pytest
import torch
from torch import nn
from torch.nn.modules import module as hooks_of_all

from mmqtvit.layers import ConvNormAct

WATCH = {
    'forward': lambda part, keep: part.register_forward_hook(
        lambda _, args, out: keep(*args, out)),
    'before': lambda part, keep: part.register_forward_pre_hook(lambda _, args: keep(*args)),
    'forward of all': lambda part, keep: hooks_of_all.register_module_forward_hook(
        lambda module, args, out: keep(*args, out) if module is part else None),
    'before of all': lambda part, keep: hooks_of_all.register_module_forward_pre_hook(
        lambda module, args: keep(*args) if module is part else None),
}


def block(act=nn.Hardswish, **kwargs):
    torch.manual_seed(0)
    return ConvNormAct(4, 4, **{'norm_cfg': dict(type='BN'), 'act': act, **kwargs}).eval()


@pytest.fixture
def x():
    return torch.randn(2, 4, 6, 6, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize('layer', ['conv', 'norm', 'act'])
@pytest.mark.parametrize('watch', WATCH.values(), ids=WATCH)
def test_what_a_hook_keeps_does_not_change(layer, watch, x):
    part, kept = block(), []
    part(x)
    handle = watch(getattr(part, layer), lambda *tensors: kept.extend(
        (tensor, tensor.detach().clone()) for tensor in tensors))
    try:
        part(x)
    finally:
        handle.remove()
    assert kept and all(torch.equal(tensor, copy) for tensor, copy in kept)


@pytest.mark.parametrize('layer', ['norm', 'act'])
def test_backward_hooks(layer, x):
    part, seen = block(), []
    getattr(part, layer).register_full_backward_hook(lambda _, grad, __: seen.append(grad[0]))
    part(x).square().sum().backward()
    assert len(seen) == 1 and seen[0].abs().sum() > 0


def test_overwrites_what_nobody_holds(x):
    part = block()
    before = x.clone()
    expected = nn.functional.hardswish(part.norm(part.conv(x)))
    assert torch.equal(part(x), expected) and part.act.inplace and torch.equal(x, before)
    handle = part.norm.register_forward_hook(lambda *_: None)
    assert torch.equal(part(x), expected) and not part.act.inplace
    handle.remove()
    assert torch.equal(part(x), expected) and part.act.inplace


@pytest.mark.parametrize('norm', [nn.Identity(), nn.Sequential(nn.Identity())], ids=type)
def test_keeps_what_a_layer_may_have_passed_on(norm, x):
    part, kept = block(), []
    part.norm = norm
    part.conv.register_forward_hook(lambda _, __, out: kept.append((out, out.clone())))
    part(x)
    assert torch.equal(*kept[0])
    part.conv = nn.Identity()
    before = x.clone()
    part(x)
    assert torch.equal(x, before)


def test_gradients_are_those_of_a_plain_sequence(x):
    part = block().train()
    plain = nn.Sequential(*block().train())
    for module in (part, plain):
        module(x).square().sum().backward()
    for mine, theirs in zip(part.parameters(), plain.parameters()):
        assert torch.equal(mine.grad, theirs.grad)


def test_an_activation_that_cannot(x):
    part = block(nn.GELU, norm_cfg=None, bias=True)
    assert torch.equal(part(x), nn.functional.gelu(part.conv(x)))
    assert not hasattr(part.act, 'inplace')
