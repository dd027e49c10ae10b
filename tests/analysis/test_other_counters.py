"""Other counters of multiply-adds find what ours finds, up to what each leaves out or adds.

What they leave out or add is computed here from the shapes that the layers see.
"""

from collections import Counter
from typing import NamedTuple

import pytest
import torch
from mmengine.analysis import get_model_complexity_info
from torch.utils.flop_counter import FlopCounterMode

from mmqtvit.analysis.cost import Cost, cost

from ..ordinary.conftest import BUILDERS

SIZES = [(224, 224), (96, 160)]  # the one that the embeddings are made for, and another


def work_of(model, x):
    """What a forward pass does, by kind, in multiply-adds or entries."""
    work = Counter()

    def convolution(layer, args, out):
        work['convolutions'] += out.numel() * layer.weight[0].numel()
        work['biases'] += 0 if layer.bias is None else out.numel()

    def norm(layer, args, out):
        work['norms'] += out.numel()

    def activation(layer, args, out):
        work['ReLU and GELU'] += out.numel()

    def attention(layer, args, out):
        size = args[0].shape[-2:]
        work['kernels'] += layer.kernel.macs(layer.num_groups, size.numel())
        if layer.position_embedding is not None:
            weight = layer.position_embedding.weight
            channels, height, width = weight.shape[1:]
            rows, columns = size[0] * height * width, size[0] * width * size[1]
            if size != weight.shape[-2:]:
                work['resizing'] += channels * (rows + columns)
            # A trace resizes at every size. The product with a matrix on the left, the same for
            # all channels, is taken for one by mmengine.
            work['resizing, as mmengine sees it'] += rows + channels * columns

    def attention_of_timm(layer, args, out):
        # Ones beside the values sum up the weights: two products of d·(d + 1) for each token.
        tokens, groups = args[0].shape[-2:].numel(), layer.proj.conv.in_channels // layer.dim
        work['kernels'] += 2 * groups * tokens * layer.dim * (layer.dim + 1)

    hooks = dict(Conv2d=convolution, BatchNorm2d=norm, ReLU=activation, GELU=activation,
                 MultiScaleAttention=attention, LiteMLA=attention_of_timm)
    for layer in model.modules():
        if type(layer).__name__ in hooks:
            layer.register_forward_hook(hooks[type(layer).__name__])
    with torch.no_grad():
        model(x)
    return work


class Case(NamedTuple):
    build: object
    x: torch.Tensor
    ours: Cost
    work: Counter


@pytest.fixture(scope='module', params=[(name, size) for name in BUILDERS for size in SIZES],
                ids=str)
def case(request):
    name, size = request.param
    x = torch.rand(1, 3, *size)

    def build():
        return BUILDERS[name]().eval()

    return Case(build, x, cost(build(), x), work_of(build(), x))


def test_shapes_of_the_layers(case):
    work = case.work
    assert case.ours.macs == work['convolutions'] + work['kernels'] + work['resizing']
    assert work['kernels'] > 0


def test_torch(case):
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        case.build()(case.x)
    assert counter.get_total_flops() == 2 * case.ours.macs


def test_thop(case):
    thop = pytest.importorskip('thop')
    macs, params = thop.profile(case.build(), (case.x, ), verbose=False)
    # Modules alone: no product of tensors, and four operations for each entry of a norm.
    expected = case.ours.macs - case.work['kernels'] - case.work['resizing']
    assert macs == expected + 4 * case.work['norms']
    # Of modules that it does not know it leaves out the parameters too.
    others = sum(parameter.numel() for name, parameter in case.build().named_parameters()
                 if name.endswith(('kernel.constant', 'position_embedding.weight')))
    assert params == case.ours.params - others


def test_mmengine(case):
    found = get_model_complexity_info(
        case.build(), inputs=case.x, show_table=False, show_arch=False)
    expected = (case.ours.macs + 2 * case.work['norms'] - case.work['resizing']
                + case.work['resizing, as mmengine sees it'])
    assert (found['flops'], found['params']) == (expected, case.ours.params)


@pytest.mark.parametrize('backend', ['aten', 'pytorch'])
def test_ptflops(case, backend):
    ptflops = pytest.importorskip('ptflops')
    found = ptflops.get_model_complexity_info(
        case.build(), tuple(case.x.shape[1:]), print_per_layer_stat=False, as_strings=False,
        backend=backend, backend_specific_config=dict(count_functional=False))
    work = case.work
    expected = case.ours.macs + work['biases']
    if backend == 'pytorch':  # modules alone
        expected += 2 * work['norms'] + work['ReLU and GELU'] - work['kernels'] - work['resizing']
    assert found == (expected, case.ours.params)
