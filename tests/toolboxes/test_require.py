import sys

import pytest
from mmengine import Config

from mmqtvit.apis import UserError
from mmqtvit.toolboxes import find_toolbox, get_toolbox, names, require_toolbox

from ..helpers.packages import write_package


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


@pytest.mark.parametrize(('model', 'name'), [
    (dict(type='RetinaNet'), 'mmdet'),
    (dict(type='EncoderDecoder'), 'mmseg'),
    (dict(type='ImageClassifier'), 'mmpretrain'),
    (dict(type='mmseg.models.segmentors.EncoderDecoder'), 'mmseg'),  # of a new-style config
    (dict(type='mmdet.models.RetinaNet'), 'mmdet'),
    (dict(type='SoftTeacher', detector=dict(type='RetinaNet')), 'mmdet'),
    (dict(type='BaseReID'), 'mmdet'),  # derives from a classifier of MMPretrain
    # The model is nowhere, and the backbone is another toolbox's.
    (dict(type='Mine', backbone=dict(type='mmpretrain.ResNet'), head=dict(type='ATSSHead')),
     'mmdet'),
])
def test_told_from_the_classes(model, name):
    for scope in ({}, dict(default_scope=None)):
        toolbox, scope = find_toolbox(Config(dict(model=model, **scope)))
        assert toolbox is get_toolbox(name) and scope == name


def test_the_scope_that_was_told_is_set():
    """The tools read it again."""
    cfg = Config(dict(model=dict(type='RetinaNet')))
    assert find_toolbox(cfg) and cfg.get('default_scope') is None
    assert require_toolbox(cfg).name == cfg.default_scope == 'mmdet'


@pytest.mark.parametrize('model', [dict(type='Mine'), dict(type='torch.nn.Linear'), None])
def test_the_classes_do_not_tell(model):
    cfg = Config(dict(model=model))
    with pytest.raises(UserError, match='got None, and the classes of the model'):
        find_toolbox(cfg)
    assert find_toolbox(cfg, 'mmdet')[1] == 'mmdet'


@pytest.mark.parametrize(('parent', 'expected'), [('mmdet', 'mmdet'), ('mmengine', 'mmseg')])
def test_a_package_on_a_toolbox(parent, expected, tmp_path, monkeypatch):
    """Its registry stands below the toolbox's, or its classes derive from the toolbox's."""
    package = f'on_{parent}'
    write_package(tmp_path, package, parent)
    cfg = Config(dict(default_scope=package, model=dict(type='Own')))
    with pytest.raises(UserError, match=rf"default_scope is '{package}', none of .*, and the "
                       rf'package {package} cannot be imported \(No module .*PYTHONPATH=\.'):
        find_toolbox(cfg)
    monkeypatch.syspath_prepend(str(tmp_path))
    toolbox, scope = find_toolbox(cfg)
    assert toolbox is get_toolbox(expected) and scope == package


def test_a_package_on_no_toolbox(tmp_path, monkeypatch):
    write_package(tmp_path, 'on_nothing', 'mmengine')
    monkeypatch.syspath_prepend(str(tmp_path))
    cfg = Config(dict(default_scope='on_nothing', model=dict(type='Nowhere')))
    with pytest.raises(UserError, match="got 'on_nothing', and the classes of the model"):
        find_toolbox(cfg)
    assert find_toolbox(cfg, 'mmseg') == (get_toolbox('mmseg'), 'on_nothing')
