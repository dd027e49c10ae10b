import sys

import pytest
from mmengine import Config

from mmqtvit.apis import UserError
from mmqtvit.toolboxes import names, require_toolbox


@pytest.mark.parametrize('toolbox', ['mmdet', 'mmseg', 'mmpretrain'])
def test_installed(toolbox):
    require_toolbox(Config(dict(default_scope=toolbox)))


@pytest.mark.parametrize('toolbox', ['mmdet', 'mmseg'])
def test_mmcv_without_operators(monkeypatch, toolbox):
    monkeypatch.setitem(sys.modules, 'mmcv._ext', None)
    with pytest.raises(UserError, match='--no-build-isolation') as error:
        require_toolbox(Config(dict(default_scope=toolbox)))
    assert 'mmcv._ext' in str(error.value)


def test_classification_does_without_operators(monkeypatch):
    monkeypatch.setitem(sys.modules, 'mmcv._ext', None)
    require_toolbox(Config(dict(default_scope='mmpretrain')))


def test_toolbox_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, 'mmseg', None)
    with pytest.raises(UserError, match='pip install mmsegmentation'):
        require_toolbox(Config(dict(default_scope='mmseg')))


@pytest.mark.parametrize('cfg', [dict(), dict(default_scope='mmother')])
def test_no_toolbox(cfg):
    with pytest.raises(UserError, match=', '.join(names())):
        require_toolbox(Config(cfg))
