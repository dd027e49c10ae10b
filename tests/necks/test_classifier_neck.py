import pytest
import torch
from mmengine.registry import DefaultScope, init_default_scope

from mmqtvit.necks import ClassifierNeck


@pytest.mark.parametrize('series, eps', [('b', 1e-5), ('l', 1e-7)])
def test_features(series, eps):
    neck = ClassifierNeck(8, 12, 20, series).eval()
    assert neck.conv.norm.eps == neck.norm.eps == eps
    features = neck((torch.zeros(2, 4, 9, 9), torch.rand(2, 8, 3, 5)))
    assert isinstance(features, tuple) and features[0].shape == (2, 20)


def test_unknown_series():
    with pytest.raises(ValueError, match=r"one of \['b', 'l'\], got 'x'"):
        ClassifierNeck(8, 12, 20, 'x')


def test_classifier_in_mmpretrain():
    from mmpretrain.registry import MODELS
    from mmpretrain.structures import DataSample
    init_default_scope('mmpretrain')
    try:
        model = MODELS.build(dict(
            type='ImageClassifier',
            backbone=dict(type='mmqtvit.EfficientViT', arch='b0', out_indices=(3, )),
            neck=dict(type='mmqtvit.ClassifierNeck', in_channels=128, hidden_channels=64,
                      out_channels=80),
            head=dict(type='LinearClsHead', in_channels=80, num_classes=10)))
    finally:
        DefaultScope._instance_dict.clear()
    samples = [DataSample().set_gt_label(label) for label in (0, 9)]
    model.loss(torch.rand(2, 3, 64, 96), samples)['loss'].backward()
    assert all(p.grad is not None for p in model.parameters())
    predictions = model.eval().predict(torch.rand(2, 3, 64, 96))
    assert predictions[0].pred_score.shape == (10, )
