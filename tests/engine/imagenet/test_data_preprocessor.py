import pytest
import torch

mmpretrain = pytest.importorskip('mmpretrain')
from mmpretrain.structures import DataSample  # noqa: E402

from mmqtvit.engine.imagenet import MultiResolutionDataPreprocessor  # noqa: E402


@pytest.fixture
def preprocessor():
    return MultiResolutionDataPreprocessor(
        sizes=[32, 48, 64], mean=[128.] * 3, std=[64.] * 3, to_rgb=True, num_classes=5,
        batch_augments=dict(augments=[dict(type='mmpretrain.Mixup', alpha=0.1)]))


def batch():
    images = torch.randint(0, 256, (4, 3, 64, 64), dtype=torch.uint8)
    return dict(inputs=images, data_samples=[DataSample().set_gt_label(i) for i in range(4)])


def test_training_draws_every_size_and_mixes(preprocessor):
    seen = set()
    for _ in range(30):
        out = preprocessor(batch(), training=True)
        assert out['inputs'].shape[:2] == (4, 3)
        assert out['data_samples'][0].gt_score.shape == (5, )
        seen.add(tuple(out['inputs'].shape[2:]))
    assert seen == {(32, 32), (48, 48), (64, 64)}


def test_evaluation_does_not_resize(preprocessor):
    data = batch()
    expected = (data['inputs'].flip(1).float() - 128) / 64
    assert torch.equal(preprocessor(data)['inputs'], expected)


def test_scaling_keeps_the_mean(preprocessor):
    data = batch()
    data['inputs'][:] = 200
    out = preprocessor(data, training=True)['inputs']
    torch.testing.assert_close(out, torch.full_like(out, (200 - 128) / 64))


@pytest.mark.parametrize('sizes', [[], [0, 32]])
def test_no_size(sizes):
    with pytest.raises(ValueError, match='sizes must be positive'):
        MultiResolutionDataPreprocessor(sizes=sizes)
