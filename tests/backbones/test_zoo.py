"""A family of backbones enters by its module and one row."""

import subprocess
import sys
import textwrap

import pytest
import torch
from mmengine import Config
from torch import nn

from mmqtvit import deploy, swap_backbone
from mmqtvit.analysis.models import build_model
from mmqtvit.apis.convert import Classifier, convert_checkpoint
from mmqtvit.backbones import EfficientViT, zoo
from mmqtvit.registry import MODELS, register_model
from mmqtvit.weights import load_weights
from tests.tools.test_command_lines import tool


class TinyViT(EfficientViT):
    """Stands for the module of a new family."""

    ARCHS = {'tiny1': dict(series='b', widths=[8, 8, 16, 24, 40], depths=[1, 1, 1, 1, 1],
                           head_dim=8)}

    def __init__(self, arch='tiny1', **kwargs):
        super().__init__(arch, **kwargs)
        self.gate = nn.Parameter(torch.ones(1))


@pytest.fixture(autouse=True)
def family(monkeypatch):
    row = zoo.Family(TinyViT, classifier_widths={'tiny1': (48, 56)}, no_decay=('gate', ))
    monkeypatch.setattr(zoo, 'FAMILIES', (*zoo.FAMILIES, row))
    monkeypatch.setitem(MODELS.module_dict, 'TinyViT', TinyViT)
    return row


def test_names(family):
    assert zoo.arch_names()[-1] == 'tiny1'
    assert zoo.family_of('tiny1') is family
    assert zoo.is_own(TinyViT()) and zoo.is_own_name('TinyViT')
    assert not zoo.is_own(nn.Conv2d(3, 3, 1)) and not zoo.is_own_name('ResNet')


def test_conversion_there_and_back():
    state_dict = Classifier('tiny1', num_classes=3).state_dict()
    names = {key for key in state_dict if 'gate' not in key}
    there = convert_checkpoint(state_dict, 'mmqtvit')
    assert there.arch == 'tiny1' and set(there.state_dict) >= names


def test_loading():
    source, model = TinyViT(), TinyViT()
    assert not load_weights(model, {f'backbone.{key}': value for key, value in
                                    source.state_dict().items()}).incomplete
    assert torch.equal(model.stem[0].conv.weight, source.stem[0].conv.weight)


def test_swap_takes_it_and_keeps_decay_from_its_parameters():
    cfg = swap_backbone(Config(dict(
        default_scope='mmpretrain',
        model=dict(type='ImageClassifier', backbone=dict(type='mmqtvit.QTViT', out_indices=(3, )),
                   neck=dict(type='GlobalAveragePooling'),
                   head=dict(type='LinearClsHead', num_classes=3, in_channels=256),
                   data_preprocessor=dict(mean=[0, 0, 0], std=[1, 1, 1])),
        optim_wrapper=dict(optimizer=dict(type='SGD', lr=0.1)))), 'tiny1')
    assert cfg.model.backbone.type == 'mmqtvit.TinyViT'
    assert cfg.model.head.in_channels == 40
    assert cfg.optim_wrapper.paramwise_cfg.custom_keys == {'gate': dict(decay_mult=0.)}


def test_counting_takes_it(capsys):
    assert isinstance(build_model('tiny1'), TinyViT)
    tool('analysis/get_flops').main(['tiny1', '--size', '64', '64'])
    assert 'stages' in capsys.readouterr().out


def test_deploy_takes_it():
    model = TinyViT().eval()
    image = torch.rand(1, 3, 64, 64)
    with torch.no_grad():
        for level, expected in zip(deploy(model)(image), model(image)):
            assert (level - expected).norm() <= 1e-5 * expected.norm()


def test_registered_by_its_decorator(tmp_path):
    code = textwrap.dedent('''
        from mmengine.registry import MODELS
        from mmqtvit.backbones import EfficientViT
        from mmqtvit.registry import register_model
        @register_model
        class TinyViT(EfficientViT):
            pass
        assert MODELS.get('mmqtvit.TinyViT') is MODELS.get('TinyViT') is TinyViT
    ''')
    subprocess.run([sys.executable, '-c', code], check=True, cwd=tmp_path)


def test_every_backbone_of_the_package_has_a_row():
    rows = {family.cls.__name__ for family in zoo.FAMILIES}
    for name, cls in MODELS.module_dict.items():
        if 'backbones' in cls.__module__:
            assert name in rows
    assert register_model(EfficientViT) is MODELS.get('EfficientViT')
