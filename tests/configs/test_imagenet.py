"""The ImageNet configs: the published classifiers and, as far as it can be had, their recipe."""

import math
import re

import pytest

from mmqtvit.backbones.zoo import family_of
from tests.configs.test_configs import (
    ALL_NAMES,
    build,
    load,
)

BASELINES = ['efficientvit_b1', 'efficientvit_b2', 'efficientvit_b3']
# Published: parameters in millions, learning rate per 128 images, alpha of mixup and cutmix,
# number and magnitude of RandAugment, random erasing, drop path, branches without it.
RECIPES = {
    'qtvit1': (9.353, 2.5e-4, 0.1, (1, 3), 0., 0.05, 0),
    'qtvit2': (24.858, 2.5e-4, 0.1, (1, 3), 0., 0.05, 0),
    'qtvit3': (49.701, 2.5e-4, 0.3, (2, 6), 0., 0.1, 0),
    'qtvit4': (52.956, 1.5e-4, 0.2, (2, 5), 0.2, 0.1, 2),
    'qtvit5': (64.109, 1.5e-4, 0.4, (2, 5), 0.2, 0.1, 3),
    'qtvit6': (246.841, 1.5e-4, 0.6, (2, 6), 0.2, 0.1, 3),
}
ARCHS = [*RECIPES, *BASELINES]


def step(pipeline, name):
    return next((step for step in pipeline if step.type == name), None)


def test_all_are_there():
    assert {name for name in ALL_NAMES if '_imagenet' in name} == {
        f'{arch}_{test}' for arch in ARCHS for test in ('imagenet', 'imagenetv2', 'imagenet_real')}


@pytest.mark.parametrize('arch', RECIPES)
def test_published_recipe(arch):
    cfg, model = build(f'{arch}_imagenet')
    count, rate, alpha, rand_augment, erasing, drop_path, num_undropped = RECIPES[arch]
    assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(count, abs=5e-4)
    assert (cfg.model.backbone.arch, cfg.model.backbone.get('num_undropped', 0)) == (
        arch, num_undropped)
    assert cfg.model.backbone.drop_path_rate == drop_path
    assert cfg.optim_wrapper.optimizer.lr == pytest.approx(
        rate * cfg.auto_scale_lr.base_batch_size / 128)
    assert {augment.type: augment.alpha for augment in cfg.model.train_cfg.augments} == {
        'Mixup': alpha, 'CutMix': alpha}
    pipeline = cfg.train_dataloader.dataset.pipeline
    found = step(pipeline, 'RandAugment')
    assert (found.num_policies, found.magnitude_level) == rand_augment
    assert (step(pipeline, 'RandomErasing') or {}).get('erase_prob', 0.) == erasing
    warm_up, cosine = cfg.param_scheduler
    assert (warm_up.end, cosine.begin, cosine.end, cfg.train_cfg.max_epochs) == (20, 20, 320, 320)


@pytest.mark.parametrize('arch', ARCHS)
def test_parts_fit_each_other(arch):
    cfg, model = build(f'{arch}_imagenet')
    assert cfg.model.neck.in_channels == model.backbone.out_channels[-1]
    assert (cfg.model.neck.hidden_channels, cfg.model.neck.out_channels) == (
        family_of(cfg.model.backbone.arch).classifier_widths[cfg.model.backbone.arch])
    assert cfg.model.head.in_channels == cfg.model.neck.out_channels
    assert cfg.model.neck.get('series', 'b') == model.backbone.series


@pytest.mark.parametrize('arch', ARCHS)
def test_input_matches_the_published_one(arch):
    cfg, _ = build(f'{arch}_imagenet')
    assert cfg.data_preprocessor.mean == [123.675, 116.28, 103.53]
    assert cfg.data_preprocessor.std == [58.395, 57.12, 57.375]
    assert cfg.data_preprocessor.to_rgb
    for loader in (cfg.val_dataloader, cfg.test_dataloader):
        resize, crop = step(loader.dataset.pipeline, 'ResizeEdge'), step(
            loader.dataset.pipeline, 'CenterCrop')
        assert resize.interpolation == 'bicubic'
        assert resize.scale == math.ceil(crop.crop_size / 0.95)


@pytest.mark.parametrize('arch', ARCHS)
def test_evaluation_on_other_labels_is_of_the_same_model(arch):
    cfg, v2, real = (load(arch + suffix)
                     for suffix in ('_imagenet', '_imagenetv2', '_imagenet_real'))
    assert cfg.model == v2.model == real.model
    assert v2.test_dataloader.dataset.type == 'ImageNetV2'
    assert v2.test_dataloader.dataset.pipeline == cfg.test_dataloader.dataset.pipeline
    assert v2.test_evaluator == cfg.test_evaluator
    assert real.test_dataloader == cfg.test_dataloader
    assert real.test_evaluator.type == 'ReaLAccuracy'


def test_no_decay_of_norms_biases_embedding_and_scalar():
    from mmengine.optim import build_optim_wrapper
    cfg, model = build('qtvit1_imagenet')
    wrapper = build_optim_wrapper(model, cfg.optim_wrapper)
    decay = {id(group['params'][0]): group['weight_decay'] for group in wrapper.param_groups}
    for name, parameter in model.named_parameters():
        free = parameter.dim() < 2 or 'position_embedding' in name
        assert decay[id(parameter)] == (0. if free else 0.1), name


def test_documented_options_for_other_sizes(root):
    """The lines of configs/README.md make a config of that size."""
    text = (root / 'configs/README.md').read_text()
    found = re.findall(r'\| (\d+) \| `(test_dataloader[^`]+)`', text)
    assert [size for size, _ in found] == ['256', '288']
    for size, line in found:
        cfg = load('qtvit1_imagenet')
        cfg.merge_from_dict({key: int(value) for key, value in (
            option.split('=') for option in line.split())})
        pipeline = cfg.test_dataloader.dataset.pipeline
        assert step(pipeline, 'CenterCrop').crop_size == int(size)
        assert step(pipeline, 'ResizeEdge').scale == math.ceil(int(size) / 0.95)
