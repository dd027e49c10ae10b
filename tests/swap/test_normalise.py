"""Images are normalised as for ImageNet, wherever the config does it."""

import pytest

from mmqtvit.backbones import zoo
from mmqtvit.swap.normalise import set_normalisation
from mmqtvit.toolboxes import get_toolbox

CAFFE = dict(mean=[103.53, 116.28, 123.675], std=[1., 1., 1.])
IMAGENET = {key: list(zoo.IMAGENET[key]) for key in ('mean', 'std')}


def normalised(model, scope='mmdet', strides=(32, 32), **cfg):
    model.setdefault('backbone', dict(type='ResNet'))
    cfg['model'] = model
    changes = set_normalisation(cfg, ('model', ), get_toolbox(scope), strides)
    return changes.warnings, changes.apply(cfg)


@pytest.mark.parametrize('scope, key', [
    ('mmdet', 'bgr_to_rgb'), ('mmseg', 'bgr_to_rgb'), ('mmpretrain', 'to_rgb')])
def test_in_the_preprocessor(scope, key):
    model = dict(data_preprocessor=dict(type='P', rgb_to_bgr=True, **CAFFE))
    warnings, cfg = normalised(model, scope)
    assert not warnings
    assert cfg['model']['data_preprocessor'] == {
        'type': 'P', 'rgb_to_bgr': False, key: True, **IMAGENET}


def test_at_the_top_level():
    warnings, cfg = normalised({}, 'mmpretrain', data_preprocessor=dict(num_classes=10, **CAFFE))
    assert not warnings
    assert cfg['data_preprocessor'] == dict(num_classes=10, to_rgb=True, **IMAGENET)


def test_in_the_pipeline_and_then_not_twice():
    def dataloader():
        pipeline = [dict(type='Load'), dict(type='mmcv.Normalize', to_rgb=False, **CAFFE)]
        return dict(dataset=dict(type='Repeat', dataset=dict(type='Coco', pipeline=pipeline)))

    plain = dict(type='DetDataPreprocessor', pad_size_divisor=16)
    warnings, cfg = normalised(
        dict(data_preprocessor=dict(plain)), strides=(16, 32), train_dataloader=dataloader(),
        test_dataloader=dataloader())
    assert not warnings
    for split in ('train', 'test'):
        pipeline = cfg[f'{split}_dataloader']['dataset']['dataset']['pipeline']
        assert pipeline[1] == dict(type='mmcv.Normalize', to_rgb=True, **IMAGENET)
    assert cfg['model']['data_preprocessor'] == dict(plain, pad_size_divisor=32)


def test_images_of_other_channels_keep_their_own():
    four = dict(type='P', mean=[0.] * 4, std=[1.] * 4, size_divisor=16)
    model = dict(backbone=dict(type='ResNet', in_channels=4), data_preprocessor=dict(four))
    warnings, cfg = normalised(model, 'mmseg', strides=(8, 32))
    assert 'images have 4 channels' in warnings[0]
    assert cfg['model']['data_preprocessor'] == dict(four, size_divisor=32)


def test_says_if_nothing_normalises():
    warnings, cfg = normalised({})
    assert 'no data_preprocessor' in warnings[0]
    assert cfg == dict(model=dict(backbone=dict(type='ResNet')))
