"""Every shipped config: complete, consistent, of the published size, and a small diff."""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import torch
from mmengine import Config
from mmengine.registry import init_default_scope

from mmqtvit.backbones.zoo import no_decay_names

CONFIGS = Path(__file__).parents[2] / 'configs'
ALL_NAMES = sorted(path.stem for path in CONFIGS.glob('*.py'))
NAMES = [name for name in ALL_NAMES if '_imagenet' not in name]

# In millions; UPerNet's auxiliary head is not counted. Published counts.
PARAMETERS = {
    'cascade_mask_rcnn_qtvit1_coco': 57.85,
    'cascade_mask_rcnn_qtvit2_coco': 68.52,
    'cascade_mask_rcnn_qtvit3_coco': 93.13,
    'cascade_mask_rcnn_efficientvit_b1_coco': 57.60,
    'cascade_mask_rcnn_efficientvit_b2_coco': 67.99,
    'cascade_mask_rcnn_efficientvit_b3_coco': 92.08,
    'upernet_qtvit1_ade20k': 32.76,
    'upernet_qtvit2_ade20k': 44.27,
    'upernet_qtvit3_ade20k': 69.73,
    'upernet_efficientvit_b1_ade20k': 32.50,
    'upernet_efficientvit_b2_ade20k': 43.75,
    'upernet_efficientvit_b3_ade20k': 68.68,
}

EXPECTED = {
    *(f'upernet_qtvit{i}_ade20k' for i in range(1, 7)),
    *(f'upernet_qtvit{i}_ade20k_320k' for i in range(1, 4)),
    'upernet_qtvit1_ade20k_640k',
    'upernet_qtvit1_ade20k_80k',
    *(f'cascade_mask_rcnn_qtvit{i}_coco' for i in range(1, 7)),
    *(f'cascade_mask_rcnn_qtvit{i}_coco_3x' for i in range(1, 4)),
    'mask_rcnn_qtvit1_coco',
    'retinanet_qtvit1_coco',
    *(f'upernet_efficientvit_b{i}_ade20k' for i in range(1, 4)),
    *(f'cascade_mask_rcnn_efficientvit_b{i}_coco' for i in range(1, 4)),
    'upernet_qtvit1_demo',
}


def load(name):
    return Config.fromfile(CONFIGS / f'{name}.py')


@cache
def build(name):
    cfg = load(name)
    init_default_scope(cfg.default_scope)
    registry = import_module(f'{cfg.default_scope}.registry')
    with torch.device('meta'):  # shapes without memory or initialisation
        return cfg, registry.MODELS.build(cfg.model)


def test_all_are_there():
    assert set(NAMES) >= EXPECTED
    assert any(name.endswith('_demo') and not name.startswith('upernet') for name in NAMES)


def base_of(source):
    base = ast.literal_eval(ast.parse(source.replace('{{_base_.', '(_base_.').replace(
        '}}', ')')).body[0].value)
    return base if isinstance(base, str) else base[0]


@pytest.mark.parametrize('name', ALL_NAMES)
def test_is_a_small_diff_on_a_toolbox(name):
    source = (CONFIGS / f'{name}.py').read_text()
    whole = name.endswith('_demo') or name == 'qtvit1_imagenet'  # recipes no toolbox carries
    assert len(source.splitlines()) <= (80 if whole else 40)
    depth = 1
    while (base := base_of(source)).startswith('./'):
        source = (CONFIGS / base).read_text()
        depth += 1
    assert base.startswith(('mmseg::', 'mmdet::', 'mmpretrain::'))
    assert depth <= (4 if name.endswith(('_imagenetv2', '_imagenet_real')) else 3)


def test_what_several_configs_share_is_said_once():
    shared = ('frozen_stages=1', 'decay_mult=0.', '123.675')
    for path in CONFIGS.glob('*.py'):
        lines = [line for line in path.read_text().splitlines() if any(
            text in line for text in shared)]
        assert not lines or path.stem == 'upernet_qtvit1_compact_ade20k', lines
    names = Config.fromfile(CONFIGS / '_base_/qtvit.py').no_decay.custom_keys
    assert tuple(names) == no_decay_names()


@pytest.mark.parametrize('name', NAMES)
def test_neck_and_heads_read_what_the_backbone_gives(name):
    cfg, model = build(name)
    channels = list(model.backbone.out_channels)
    if cfg.default_scope == 'mmdet':
        assert list(model.neck.in_channels) == channels
    else:
        for head in (model.decode_head, getattr(model, 'auxiliary_head', None)):
            if head is None:
                continue
            multiple = isinstance(head.in_index, (list, tuple))
            in_index = head.in_index if multiple else [head.in_index]
            in_channels = head.in_channels if multiple else [head.in_channels]
            assert list(in_channels) == [channels[index] for index in in_index]
    assert cfg.model.backbone.type.startswith('mmqtvit.')
    assert not cfg.model.get('pretrained')


@pytest.mark.parametrize('name', PARAMETERS)
def test_parameter_count(name):
    _, model = build(name)
    count = sum(p.numel() for key, p in model.named_parameters()
                if not key.startswith('auxiliary_head'))
    assert count / 1e6 == pytest.approx(PARAMETERS[name], abs=0.0055)


@pytest.mark.parametrize('name', NAMES)
def test_input_matches_the_pretraining(name):
    preprocessor = load(name).model.data_preprocessor
    assert preprocessor.mean == [123.675, 116.28, 103.53]
    assert preprocessor.std == [58.395, 57.12, 57.375]
    assert preprocessor.bgr_to_rgb


@pytest.mark.parametrize('name', [name for name in NAMES if name.startswith('upernet')])
def test_segmentation_sets_one_of_size_and_divisor(name):
    preprocessor = load(name).model.data_preprocessor
    assert ('size' in preprocessor) != ('size_divisor' in preprocessor)


@pytest.mark.parametrize('name', NAMES)
def test_embedding_and_scalar_do_not_decay(name):
    from mmengine.optim import build_optim_wrapper
    cfg, model = build(name)
    wrapper = build_optim_wrapper(model, cfg.optim_wrapper)
    decay = {id(group_param): group['weight_decay'] for group in wrapper.param_groups
             for group_param in group['params']}
    for key, parameter in model.named_parameters():
        if 'position_embedding' in key or 'kernel.constant' in key:
            assert decay.get(id(parameter), 0) == 0, key
    assert max(decay.values()) > 0


@pytest.mark.parametrize('name, iterations', [
    ('upernet_qtvit1_ade20k_80k', 80000),
    ('upernet_qtvit1_ade20k', 160000),
    ('upernet_efficientvit_b2_ade20k', 160000),
    ('upernet_qtvit1_ade20k_320k', 320000),
    ('upernet_qtvit2_ade20k_320k', 320000),
    ('upernet_qtvit3_ade20k_320k', 320000),
    ('upernet_qtvit1_ade20k_640k', 640000),
])
def test_segmentation_schedule(name, iterations):
    cfg = load(name)
    assert cfg.train_cfg.max_iters == iterations == cfg.param_scheduler[0].end
    assert iterations // cfg.train_cfg.val_interval == 10
    assert cfg.default_hooks.checkpoint.interval == cfg.train_cfg.val_interval
    optimizer = cfg.optim_wrapper.optimizer
    assert (optimizer.type, optimizer.lr, optimizer.weight_decay) == ('SGD', 0.01, 5e-4)
    assert cfg.train_dataloader.batch_size == 4


@pytest.mark.parametrize('name', [name for name in NAMES if 'mask_rcnn' in name])
def test_instance_segmentation_evaluates_boxes_and_masks(name):
    cfg = load(name)
    assert cfg.val_evaluator.metric == cfg.test_evaluator.metric == ['bbox', 'segm']


@pytest.mark.parametrize('name', [name for name in NAMES if name.endswith('_3x')])
def test_three_times_the_epochs(name):
    cfg = load(name)
    dataset = cfg.train_dataloader.dataset
    assert dataset.times * cfg.train_cfg.max_epochs == 36
