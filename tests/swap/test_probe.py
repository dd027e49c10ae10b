"""What is seen of a backbone."""

import pytest

from mmqtvit.swap.probe import build_without_weights, probe, stride_of, without_weights
from mmqtvit.swap.refuse import SwapRefused

RESNET = dict(type='ResNet', depth=18, base_channels=8, stem_channels=8)


@pytest.mark.parametrize('size', [(64, 96), (550, 550), (321, 33), (224, 224)])
def test_levels_of_any_image_size(size):
    found = probe(RESNET, 'mmdet', size)
    assert [level.stride for level in found.levels] == [4, 8, 16, 32]
    assert [level.channels for level in found.levels] == [8, 16, 32, 64]
    assert found.size == size and found.macs > 0
    assert found.parameters == sum(
        p.numel() for p in build_without_weights(RESNET, 'mmdet').parameters())


@pytest.mark.parametrize('size, shape, stride', [
    ((550, 550), (18, 18), 32), ((550, 550), (17, 17), 32), ((300, 300), (38, 38), 8),
    ((32, 32), (1, 1), 32), ((224, 224), (16, 16), 14), ((64, 64), (64, 64), 1)])
def test_stride(size, shape, stride):
    assert stride_of(size, shape) == stride


def test_softmax_attention_is_counted():
    found = probe(dict(type='VisionTransformer', arch='deit-tiny', out_type='featmap'),
                  'mmpretrain', (224, 224))
    tokens, width = 14 * 14 + 1, 192
    block = tokens * (3 + 1 + 4 + 4) * width**2 + 2 * tokens**2 * width
    assert found.macs == 12 * block + 14 * 14 * 3 * 16 * 16 * width


def test_nothing_names_weights():
    node = dict(
        pretrained='a.pth', init_cfg=[dict(type='Pretrained', checkpoint='b.pth')],
        neck=[dict(pretrained=True, init_cfg=dict(type='Xavier'), checkpoint_path='')])
    assert without_weights(node) == dict(
        neck=[dict(pretrained=False, init_cfg=dict(type='Xavier'), checkpoint_path='')])


@pytest.mark.parametrize('backbone, scope, words', [
    (dict(RESNET, depth=17), 'mmdet', 'ResNet cannot be built and run on an image of 64×64'),
    (dict(type='ICNet', backbone_cfg=dict(RESNET)), 'mmseg', 'ICNet cannot be built'),
])
def test_says_why_a_backbone_cannot_be_used(backbone, scope, words):
    with pytest.raises(SwapRefused, match=words):
        probe(backbone, scope, (64, 64))
