import pytest
import torch
import torch.nn.functional as F

from mmqtvit.layers import MBConv, MultiScaleAttention, SkipAttention, SkippingBlock, SkippingStage

NORM_CFG = dict(type='BN')


@pytest.mark.parametrize('size', [(1, 1), (1, 7), (4, 6)])
def test_equals_the_formula(size):
    torch.manual_seed(0)
    phi = SkipAttention(4).double()
    z = torch.randn(2, 4, *size, dtype=torch.float64)
    expand, depth, project = (layer.conv for layer in (phi.expand, phi.depth, phi.project))
    # tokens last, linear layers as matrices
    y = F.gelu(torch.einsum('oc,bchw->bohw', expand.weight[..., 0, 0], z)
               + expand.bias.view(-1, 1, 1))
    padded = F.pad(y, (2, 2, 2, 2)).unfold(2, 5, 1).unfold(3, 5, 1)  # (B, 2C, H, W, 5, 5)
    y = F.gelu(torch.einsum('bchwij,cij->bchw', padded, depth.weight[:, 0])
               + depth.bias.view(-1, 1, 1))
    y = torch.einsum('oc,bchw->bohw', project.weight[..., 0, 0], y) + project.bias.view(-1, 1, 1)
    means = F.pad(y.mean((2, 3)), (1, 1)).unfold(1, 3, 1)  # each channel between its neighbours
    gate = (means * phi.gate.weight[0, 0]).sum(-1).sigmoid()
    torch.testing.assert_close(phi(z), y * gate[..., None, None])


def block(context, rate=0.):
    local = MBConv(8, 8, act=torch.nn.ReLU, norm_cfg=NORM_CFG)
    return SkippingBlock(context, local, (rate, 0.))


def attention():
    return MultiScaleAttention(8, 4, dict(type='ReLULinear'), NORM_CFG)


def test_a_chain_of_skipped_blocks():
    torch.manual_seed(0)
    first = torch.nn.Conv2d(3, 8, 1)
    blocks = [block(attention()), block(SkipAttention(8)), block(SkipAttention(8)),
              block(attention())]
    stage = SkippingStage(first, *blocks).eval()
    image = torch.randn(2, 3, 4, 5)
    x = first(image)
    z = None
    for index, part in enumerate(blocks):
        z = part.attention.branch(z if index in (1, 2) else x)
        x = part.local(x + z)
    torch.testing.assert_close(stage(image), x)


def test_without_skipped_blocks_it_is_a_plain_sequence():
    torch.manual_seed(0)
    blocks = [block(attention()), block(attention())]
    x = torch.randn(2, 8, 4, 5)
    expected = x
    for part in SkippingStage(*blocks).eval():
        expected = expected + part.attention.branch(expected)
        expected = part.local(expected)
    torch.testing.assert_close(SkippingStage(*blocks)(x), expected)


def test_every_module_of_a_skipping_stage_is_called():
    stage = SkippingStage(torch.nn.Conv2d(3, 8, 1), block(attention()), block(SkipAttention(8)))
    called = set()
    for name, module in stage.named_modules():
        module.register_forward_hook(lambda *_, name=name: called.add(name) and None)
    stage(torch.randn(2, 3, 4, 5))
    containers = {name for name, module in stage.named_modules()
                  if isinstance(module, torch.nn.ModuleList)}
    assert called == {name for name, _ in stage.named_modules()} - containers


def test_a_dropped_attention_is_handed_on_all_the_same():
    torch.manual_seed(0)
    stage = SkippingStage(block(attention(), rate=0.999), block(SkipAttention(8))).eval()
    for part in stage:
        part.attention.train()
        part.attention.branch.eval()
    x = torch.randn(1, 8, 4, 5)
    z = stage[0].attention.branch(x)
    y = stage[0].local(x)  # dropped
    torch.testing.assert_close(stage(x), stage[1].local(y + stage[1].attention.branch(z)))
