"""Where models are only evaluated they are in the deploy form, or it is said why not."""

import logging

import torch
from mmengine.model import is_model_wrapper
from torch import nn

from mmqtvit import QTViT
from mmqtvit.deployment.modules import PointwiseConv
from mmqtvit.engine.deployed import DeployModel, deployed, drop_averaging

ARCH = dict(series='b', widths=[8, 8, 16, 32, 64], depths=[1] * 5, head_dim=16)


def is_deployed(model):
    return any(isinstance(part, PointwiseConv) for part in model.modules())


def test_a_model_with_a_backbone_is_deployed_without_a_word():
    said = []
    assert is_deployed(deployed(QTViT(ARCH), said.append)) and not said


def test_another_model_is_run_as_it_is_and_the_reason_is_said():
    model, said = nn.Conv2d(3, 3, 1), []
    assert deployed(model, said.append) is model
    assert len(said) == 1 and 'got Conv2d' in said[0]


def test_the_hook_replaces_the_runners_model():
    class Runner:
        model = QTViT(ARCH)
        logger = logging.getLogger(__name__)

    DeployModel().before_test(Runner)
    assert is_deployed(Runner.model) and not is_model_wrapper(Runner.model)
    with torch.no_grad():
        assert len(Runner.model(torch.rand(1, 3, 64, 64))) == 4


def test_hooks_that_would_exchange_weights_are_left_out():
    cfg = dict(custom_hooks=[dict(type='EMAHook'), dict(type='mmdet.ExpMomentumEMAHook'),
                             dict(type='Other')])

    class Config(dict):
        __setattr__ = dict.__setitem__

    cfg = Config(cfg)
    drop_averaging(cfg)
    assert cfg['custom_hooks'] == [dict(type='Other')]
