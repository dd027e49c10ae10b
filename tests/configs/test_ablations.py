"""The ablations that configs/README.md documents."""

import re
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path

import pytest
import torch
from mmengine.registry import init_default_scope

from mmqtvit.apis import load_config
from mmqtvit.apis.arguments import add_common_arguments
from mmqtvit.attention import KERNELS, AttentionKernel
from mmqtvit.layers import MultiScaleAttention, SkipAttention
from tests.configs.test_configs import (
    CONFIGS,
    build,
)

ADE20K = ['upernet_qtvit1_ade20k', 'upernet_efficientvit_b1_ade20k']
CASCADE = [f'cascade_mask_rcnn_qtvit{i}_coco' for i in (1, 2, 3)]


def lines_below(heading):
    """The options of the table below a heading, by what they are for."""
    text = (Path(CONFIGS) / 'README.md').read_text()
    section = text.split(f'### {heading}\n')[1].split('\n#')[0]
    return dict(re.findall(r'^\| (.+) \| `(model\.\S+(?: model\.\S+)*)` \|$', section, re.M))


KERNEL_LINES = lines_below('Kernels')
OTHER_LINES = lines_below('Positional embedding, shortcut, SkipAT')


def build_with(name, line):
    """The model of a config with options as tools/train.py reads them."""
    parser = ArgumentParser()
    add_common_arguments(parser)
    options = parser.parse_args(['--cfg-options', *line.split()]).cfg_options
    cfg = load_config(str(CONFIGS / f'{name}.py'), options)
    init_default_scope(cfg.default_scope)
    with torch.device('meta'):
        return import_module(f'{cfg.default_scope}.registry').MODELS.build(cfg.model)


def of_type(model, *types):
    return [module for module in model.modules() if isinstance(module, types)]


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize('name, what', [
    *((ADE20K[0], what) for what in KERNEL_LINES), (ADE20K[1], 'Softmax'), (ADE20K[1], 'InLine')])
def test_a_kernel(name, what):
    line = KERNEL_LINES[what]
    model = build_with(name, line)
    kernels = of_type(model, AttentionKernel)
    assert {type(kernel).__name__ for kernel in kernels} == {re.search(r'type=(\w+)', line)[1]}
    for option, value in re.findall(r'attention\.(\w+)=(\S+)', line):
        assert option == 'type' or str(getattr(kernels[0], option)) == value
    if 'softmax_residual' in line:
        assert kernels[0].softmax_residual.threshold == 0.02
    attention = of_type(model, MultiScaleAttention)[0]
    assert (attention.value_shortcut is None) == ('efficientvit' in name)


def test_every_kernel_is_documented():
    documented = {re.search(r'type=(\w+)', line)[1] for line in KERNEL_LINES.values()}
    assert documented == set(KERNELS) - {'CompactQuadraticTaylor'}


def test_the_compact_kernel():
    from mmengine.optim import build_optim_wrapper
    cfg, model = build('upernet_qtvit1_compact_ade20k')
    assert {type(kernel).__name__ for kernel in of_type(model, AttentionKernel)} == {
        'CompactQuadraticTaylor'}
    wrapper = build_optim_wrapper(model, cfg.optim_wrapper)
    decay = {id(group['params'][0]): group['weight_decay'] for group in wrapper.param_groups}
    scalars = {name: decay[id(parameter)] for name, parameter in model.named_parameters()
               if '.kernel.' in name}
    assert {name.rpartition('.')[2] for name in scalars} == {'alpha', 'gamma'}
    assert set(scalars.values()) == {0.}
    with_beta = build_with('upernet_qtvit1_compact_ade20k', 'model.backbone.attention.beta=1.')
    assert count(with_beta) == count(model) + len(scalars) // 2


@pytest.mark.parametrize('name', [ADE20K[0], *CASCADE])
def test_without_the_embedding(name):
    model = build_with(name, OTHER_LINES['Without the embedding'])
    assert all(attention.position_embedding is None
               for attention in of_type(model, MultiScaleAttention))
    _, whole = build(name)
    embeddings = [parameter for key, parameter in whole.named_parameters()
                  if 'position_embedding' in key]
    assert count(model) == count(whole) - sum(map(torch.numel, embeddings)) < count(whole)


def test_without_the_shortcut():
    model = build_with(ADE20K[0], OTHER_LINES['Without the shortcut'])
    assert all(attention.value_shortcut is None
               for attention in of_type(model, MultiScaleAttention))


@pytest.mark.parametrize('name', [*ADE20K, CASCADE[0]])
def test_skip_attention(name):
    line = OTHER_LINES['SkipAT in every second attention block']
    stages = build_with(name, line).backbone.stages
    kinds = [[type(block.attention.branch) for block in stage[1:]] for stage in stages[2:]]
    assert kinds == [[MultiScaleAttention, SkipAttention, MultiScaleAttention],
                     [MultiScaleAttention, SkipAttention] * 2]
