import pytest
from mmengine.registry import DefaultScope, init_default_scope


@pytest.fixture
def classifier():
    from mmpretrain.registry import MODELS
    init_default_scope('mmpretrain')
    yield MODELS.build(dict(
        type='ImageClassifier',
        backbone=dict(
            type='mmqtvit.QTViT', out_indices=(3, ),
            arch=dict(series='b', widths=[8, 8, 16, 32, 64], depths=[1, 2, 2, 2, 2],
                      head_dim=16)),
        neck=dict(type='GlobalAveragePooling'),
        head=dict(type='LinearClsHead', num_classes=4, in_channels=64)))
    DefaultScope._instance_dict.clear()


def test_learning_rates_grow_with_depth_through_mmpretrain(classifier):
    from mmengine.optim import build_optim_wrapper
    wrapper = build_optim_wrapper(classifier, dict(
        optimizer=dict(type='AdamW', lr=1., weight_decay=0.1),
        constructor='LearningRateDecayOptimWrapperConstructor',
        paramwise_cfg=dict(layer_decay_rate=0.8)))
    rates = {group['param_name']: group['lr'] for group in wrapper.optimizer.param_groups}
    depth = max(classifier.backbone.get_layer_depth(name)[1] for name in rates) - 1
    assert depth == 11  # the stem, two blocks, two blocks, three blocks, three blocks, the head
    assert rates['head.fc.weight'] == 1.
    assert rates['backbone.stem.0.conv.weight'] == pytest.approx(0.8**depth)
    assert rates['backbone.stages.3.2.local.branch.point.conv.weight'] == pytest.approx(0.8)
    assert len(set(rates.values())) == depth + 1
