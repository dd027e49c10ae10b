"""What hooks, wraps, prunes, prepares or shards modules finds ordinary ones."""

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.ao.quantization import get_default_qat_qconfig, prepare_qat
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.utils import prune, remove_weight_norm, weight_norm


def last(model, x):
    with torch.no_grad():
        return model(x)[-1]


def convolutions(model):
    return [part for part in model.modules() if type(part) is nn.Conv2d]


def test_hooks_on_all_leaf_modules_are_called(model, x):
    leaves = {name for name, part in model.named_modules() if not list(part.children())}
    called = set()
    for name in leaves:
        model.get_submodule(name).register_forward_hook(
            lambda *_, name=name: called.add(name) and None)
    last(model, x)
    assert called == leaves


def test_pruned_weights(model, x):
    dense = last(model, x)
    for conv in convolutions(model):
        prune.l1_unstructured(conv, 'weight', 0.5)
    pruned = model.state_dict()
    for conv in convolutions(model):
        prune.remove(conv, 'weight')
    expected = last(model, x)
    for conv in convolutions(model):
        nn.init.zeros_(conv.weight)
        prune.identity(conv, 'weight')
    model.load_state_dict(pruned)
    assert not torch.allclose(dense, expected)
    assert torch.equal(last(model, x), expected)


def test_old_weight_norm_is_read_at_each_call(model, x):
    plain = last(model, x)
    for conv in convolutions(model):
        weight_norm(conv)
    torch.testing.assert_close(last(model, x), plain, rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        for part in model.modules():
            if hasattr(part, 'weight_g'):
                part.weight_g.mul_(1.5)
    changed = last(model, x)
    for part in model.modules():
        if hasattr(part, 'weight_g'):
            remove_weight_norm(part)
    assert not torch.allclose(changed, plain)
    torch.testing.assert_close(last(model, x), changed)


class LoRA(nn.Module):
    """A convolution with a trainable addition of rank 1, which starts as 0."""

    def __init__(self, conv):
        super().__init__()
        self.base = conv
        self.down = nn.Conv2d(conv.in_channels, 1, conv.kernel_size, conv.stride, conv.padding)
        self.up = nn.Conv2d(1, conv.out_channels, 1)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


def test_wrapped_convolutions(model, x):
    plain = last(model, x)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Conv2d:
                setattr(parent, name, LoRA(child))
    torch.testing.assert_close(last(model, x), plain)
    for part in model.modules():
        if isinstance(part, LoRA):
            nn.init.constant_(part.up.bias, 0.1)
    assert not torch.allclose(last(model, x), plain)


def test_quantisation_aware_training_finds_every_convolution(name, model):
    number = len(convolutions(model))
    assert name not in ('timm', 'qtvit1', 'b1') or number == 73
    model.train().qconfig = get_default_qat_qconfig('fbgemm')
    prepared = prepare_qat(model)
    assert sum('qat' in type(part).__module__ for part in prepared.modules()) == number


def test_hooks_on_residual_branches_and_what_they_keep(model, x):
    kept, gradients = [], []
    for name, part in model.named_modules():
        if name.endswith(('branch', 'main')):
            part.register_forward_hook(
                lambda _, args, out: kept.append((out, out.detach().clone())) and None)
            part.register_full_backward_hook(lambda *_: gradients.append(1) and None)
    model(x)[-1].square().mean().backward()
    assert len(kept) == len(gradients) > 15
    assert all(torch.equal(out, copy) for out, copy in kept)


@pytest.fixture
def mesh(tmp_path):
    dist.init_process_group('gloo', init_method=f'file://{tmp_path}/store', rank=0, world_size=1)
    yield init_device_mesh('cpu', (1, ))
    dist.destroy_process_group()


def test_fully_shard(name, model, x, mesh):
    fsdp = pytest.importorskip('torch.distributed.fsdp')
    if not hasattr(fsdp, 'fully_shard'):
        pytest.skip('this PyTorch has no fully_shard')
    if name == 'timm':
        # Its wrapper for feature maps is a container, which fully_shard refuses; the model is not.
        import timm
        model = timm.create_model('efficientvit_b1').eval()
    expected = [p.numel() for p in model.parameters()]
    fsdp.fully_shard(model, mesh=mesh)
    model(x)[-1].sum().backward()
    assert [p.grad.numel() for p in model.parameters() if p.grad is not None] == expected
