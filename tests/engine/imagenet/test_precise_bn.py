from types import SimpleNamespace

import pytest
import torch
from mmengine.model import BaseDataPreprocessor
from torch import nn
from torch.utils.data import DataLoader

pytest.importorskip('mmpretrain')
from mmengine.hooks import EMAHook  # noqa: E402

from mmqtvit.engine.imagenet import AveragedPreciseBNHook  # noqa: E402
from mmqtvit.errors import UserError  # noqa: E402


class Model(nn.Module):
    """A linear layer, dropout that must be off, a norm."""

    def __init__(self):
        super().__init__()
        self.data_preprocessor = BaseDataPreprocessor()
        self.layers = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5), nn.BatchNorm1d(3))

    def forward(self, inputs):
        return self.layers(inputs)


@pytest.fixture
def runner():
    torch.manual_seed(0)
    images = torch.randn(12, 4) + 1
    loader = DataLoader([dict(inputs=image) for image in images], batch_size=4)
    return SimpleNamespace(
        model=Model(), hooks=[], logger='silent', world_size=1, images=images,
        train_loop=SimpleNamespace(dataloader=loader))


def averaged(runner, **options):
    """Add an EMA hook whose average differs from the model."""
    hook = EMAHook(momentum=0.1, **options)
    hook.before_run(runner)
    hook.ema_model.update_parameters(runner.model)
    runner.model.layers[0].weight.data.add_(1.)
    hook.ema_model.update_parameters(runner.model)
    runner.hooks.append(hook)
    return hook.ema_model.module


def estimate(runner, num_samples):
    hook = AveragedPreciseBNHook(num_samples=num_samples)
    hook.before_train(runner)
    hook._perform_precise_bn(runner)


def check(model, images):
    batches = model.layers[0](images).detach().unflatten(0, (-1, 4))
    norm = model.layers[2]
    torch.testing.assert_close(norm.running_mean, batches.mean((0, 1)))
    torch.testing.assert_close(norm.running_var, batches.var(1).mean(0))
    assert norm.momentum == 0.1


@pytest.mark.parametrize('num_samples, used', [(12, 12), (9, 8), (1, 4), (1000, 12)])
def test_statistics_are_those_of_the_average(runner, num_samples, used):
    average = averaged(runner, update_buffers=True)
    estimate(runner, num_samples)
    check(average, runner.images[:used])
    raw = runner.model.layers[2]
    assert torch.equal(raw.running_mean, torch.zeros(3))
    assert average.layers[1].training and runner.model.training  # as before


def test_without_an_average(runner):
    runner.model.layers[1].eval()
    estimate(runner, 12)
    check(runner.model, runner.images)
    assert runner.model.training and not runner.model.layers[1].training


def test_average_without_buffers_is_refused(runner):
    averaged(runner)
    with pytest.raises(UserError, match='update_buffers=True'):
        estimate(runner, 12)
