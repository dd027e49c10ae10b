"""Loaders that give no batch, never finish, or leave images of an evaluation out."""

import pytest

from mmqtvit.apis import UserError, load_config, train
from mmqtvit.apis import test as evaluate

from .test_check_dataset import Toy, only
from .test_runner import one_thread  # noqa: F401

EPOCHS = {'train_cfg': dict(_delete_=True, type='EpochBasedTrainLoop', max_epochs=1),
          'param_scheduler': None, 'train_dataloader.sampler.type': 'DefaultSampler'}
ITERATIONS = {'train_dataloader.sampler.type': 'DefaultSampler'}
TOO_FEW = {'train_dataloader.batch_size': 5, 'train_dataloader.drop_last': True}
GROUPED = {'train_dataloader.batch_sampler': dict(type='AspectRatioBatchSampler', drop_last=True)}


@pytest.fixture()
def detector(tmp_path):
    return Toy(tmp_path, 'mmdet')


@pytest.mark.parametrize('options', [
    {**EPOCHS, **TOO_FEW}, {**ITERATIONS, **TOO_FEW},
    {**EPOCHS, 'train_dataloader.batch_size': 5, **GROUPED},
    {**EPOCHS, **TOO_FEW, 'train_dataloader.sampler': dict(
        _delete_=True, type='mmpretrain.RepeatAugSampler')}])
def test_fewer_images_than_a_batch(detector, tmp_path, options):
    """mmengine would end such an epoch at once and write random weights."""
    finding = only(detector.findings(**options), 'loader without a batch')
    assert finding.place == 'train_dataloader' and finding.detail.startswith('4 samples')
    with pytest.raises(UserError, match='loader without a batch: train_dataloader: 4 samples'):
        train(load_config(detector.path, options, str(tmp_path / 'run')))
    assert not list((tmp_path / 'run').glob('*.pth'))


@pytest.mark.parametrize('options', [TOO_FEW, EPOCHS, {**TOO_FEW, 'train_dataloader.batch_size': 2},
                                     {**GROUPED, 'train_dataloader.batch_size': 5}])
def test_loaders_with_batches(detector, options):
    """An endless sampler goes over the images again until a batch is full."""
    assert detector.findings(**options) == {}


def test_an_epoch_without_an_end(detector, tmp_path):
    options = {**EPOCHS, 'train_dataloader.sampler.type': 'InfiniteSampler'}
    finding = only(detector.findings(**options), 'sampler without an end in a loop of epochs')
    assert 'use DefaultSampler' in finding.detail
    with pytest.raises(UserError, match='sampler without an end'):
        train(load_config(detector.path, options, str(tmp_path / 'run')))


def test_evaluation_that_leaves_out_images(detector, tmp_path):
    options = {'test_dataloader.batch_size': 3, 'test_dataloader.drop_last': True}
    finding = only(detector.findings(splits=('test', ), **options),
                   'evaluation that leaves out images')
    assert finding.detail == 'drop_last=True drops the last 1 of 4'
    train(load_config(detector.path, {'train_cfg.max_iters': 1}, str(tmp_path / 'run')))
    with pytest.raises(UserError, match='drops the last 1 of 4'):
        evaluate(load_config(detector.path, options, str(tmp_path / 'run')),
                 str(tmp_path / 'run/iter_1.pth'))
    options['test_dataloader.batch_size'] = 2
    assert detector.findings(splits=('test', ), **options) == {}


def test_a_step_that_is_not_there(detector):
    options = {'train_dataloader.dataset.pipeline.1.type': 'Rezise'}
    finding = only(detector.findings(**options), 'loader that cannot be built')
    assert 'Rezise' in finding.detail
