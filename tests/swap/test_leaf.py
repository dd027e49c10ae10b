"""The written config: small, readable, equal to the swapped one."""

import random

import pytest
from mmengine import Config
from mmengine.config import ConfigDict

from mmqtvit.cfg.read import read_config
from mmqtvit.errors import UserError
from mmqtvit.swap import swap_backbone, write_leaf
from mmqtvit.swap.leaf import base_reference, commented, difference, source

from ..helpers.toy import write_toy

ARCH = dict(series='b', widths=[4, 8, 8, 16, 24], depths=[1, 1, 1, 1, 1], head_dim=8)

def random_value(rng, depth=3):
    kind = rng.randrange(6 if depth else 3)
    if kind < 3:
        return (None, 'a', rng.randrange(3))[kind]
    if kind == 3:
        return [random_value(rng, depth - 1) for _ in range(rng.randrange(3))]
    return {key: random_value(rng, depth - 1) for key in rng.sample(['x', 'y', 'x.y'], 2)}


@pytest.mark.parametrize('seed', range(200))
def test_the_difference_leads_from_one_to_the_other(seed):
    rng = random.Random(seed)
    old, extra = ({key: random_value(rng) for key in 'pqr'} for _ in range(2))
    new = {**old, **extra}  # a child config keeps all of its parent's top level
    merged = ConfigDict(old)
    merged.merge(ConfigDict(difference(old, new)))
    assert merged.to_dict() == new
    assert eval(source(new)) == new


def test_remarks_are_wrapped():
    text = commented(['word ' * 30, 'short'])
    assert text.splitlines()[-1] == '# short'
    assert len(text.splitlines()) == 3 and text.splitlines()[1].startswith('#   word')
    assert all(len(line) <= 100 for line in text.splitlines())


@pytest.mark.parametrize('value', [
    float('inf'), -float('inf'), {"it's": 1}, {'lambda': 1}, {1: 2}, dict(z=1, a=2)])
def test_source_is_read_as_what_it_was(value):
    again = eval(source(value))
    assert again == value
    assert not isinstance(value, dict) or list(again) == list(value)


def test_tuples_and_lists_differ():
    assert difference(dict(a=(1, 2)), dict(a=[1, 2])) == dict(a=[1, 2])
    assert source((1, )) == '(1,)'


def without_scopes(node):
    """mmengine marks what it inherits from another package."""
    if isinstance(node, dict):
        return {key: without_scopes(value) for key, value in node.items() if key != '_scope_'}
    return type(node)(map(without_scopes, node)) if isinstance(node, (list, tuple)) else node


def test_leaf_on_a_toolbox(tmp_path):
    name = 'mmseg::upernet/upernet_r50_4xb4-160k_ade20k-512x512.py'
    cfg = read_config(name)
    swapped = swap_backbone(cfg)
    path = tmp_path / 'leaf.py'
    write_leaf(str(path), name, cfg, swapped, ['why'])
    text = path.read_text()
    assert text.startswith(f"# why\n_base_ = '{name}'")
    assert len(text.splitlines()) < 25
    assert '_delete_=True' in text and 'pretrained=None' in text
    again = Config.fromfile(path)
    assert without_scopes(again.to_dict()) == without_scopes(swapped.to_dict())
    assert swap_backbone(again).to_dict() == again.to_dict()
    again.dump(tmp_path / 'dumped.py')
    assert Config.fromfile(tmp_path / 'dumped.py').to_dict() == again.to_dict()


@pytest.fixture
def own_config(tmp_path, monkeypatch):
    """A user's: a chain of bases, a module of the user's own, variables, ``_delete_``."""
    folder = tmp_path / 'mine'
    folder.mkdir()
    toy = write_toy(folder)
    (folder / 'my_module_for_swap.py').write_text('LOADED = True\n')
    monkeypatch.syspath_prepend(str(folder))
    (folder / 'middle.py').write_text(
        f"_base_ = './{toy.rsplit('/', 1)[1]}'\nwidth = 8\nchannels = 16\n")
    path = folder / 'own.py'
    path.write_text("""_base_ = ['./middle.py']
custom_imports = dict(imports=['my_module_for_swap'], allow_failed_imports=False)
width = {{_base_.width}}
model = dict(
    backbone=dict(_delete_=True, type='mmseg.ResNetV1c', depth=18, base_channels=width,
                  stem_channels=width, norm_cfg=dict(type='SyncBN')),
    decode_head=dict(in_channels={{_base_.channels}} * 4))
optim_wrapper = dict(optimizer=dict(_delete_=True, type='AdamW', lr=1e-3))
""")
    return path


def test_a_config_of_ones_own(own_config, tmp_path):
    cfg = read_config(str(own_config))
    swapped = swap_backbone(cfg, ARCH)
    path = tmp_path / 'elsewhere' / 'leaf.py'
    write_leaf(str(path), str(own_config), cfg, swapped)
    assert "_base_ = '../mine/own.py'" in path.read_text()
    again = Config.fromfile(path)
    assert again.to_dict() == swapped.to_dict()
    assert again.model.decode_head.in_channels == 24
    assert again.optim_wrapper.optimizer == dict(type='AdamW', lr=1e-3)
    assert swap_backbone(again, ARCH).to_dict() == swapped.to_dict()


@pytest.mark.parametrize('scope', ["default_scope = 'mmdet'", 'default_scope = None', ''])
def test_a_config_of_the_new_style_is_written_whole(scope, tmp_path):
    pytest.importorskip('mmdet')
    (tmp_path / 'base_model.py').write_text(scope + """
from mmdet.models import FPN, DetDataPreprocessor, ResNet, RetinaHead, RetinaNet
model = dict(type=RetinaNet, data_preprocessor=dict(type=DetDataPreprocessor),
             backbone=dict(type=ResNet, depth=18),
             neck=dict(type=FPN, in_channels=[64, 128, 256, 512], out_channels=16, num_outs=5),
             bbox_head=dict(type=RetinaHead, num_classes=2, in_channels=16))
""")
    config = tmp_path / 'new_style.py'
    config.write_text("""from mmengine.config import read_base
with read_base():
    from .base_model import *
""")
    cfg = read_config(str(config))
    swapped = swap_backbone(cfg, ARCH)
    path = tmp_path / 'leaf.py'
    write_leaf(str(path), str(config), cfg, swapped)
    again = read_config(str(path))
    assert again.to_dict() == swapped.to_dict()
    assert again.model.neck.in_channels == [8, 8, 16, 24]
    assert swap_backbone(again, ARCH).to_dict() == swapped.to_dict()


def test_base_reference(tmp_path):
    inside = tmp_path / 'site-packages/mmdet/.mim/configs/atss/a.py'
    assert base_reference(str(inside), 'leaf.py') == 'mmdet::atss/a.py'
    assert base_reference('mmseg::a/b.py', 'leaf.py') == 'mmseg::a/b.py'
    assert base_reference(str(tmp_path / 'a.py'), str(tmp_path / 'b.py')) == './a.py'


def test_does_not_write_over_the_original(tmp_path):
    cfg = Config(dict(a=1))
    with pytest.raises(UserError, match='inherit itself'):
        write_leaf(str(tmp_path / 'a.py'), str(tmp_path / 'a.py'), cfg, cfg)
    with pytest.raises(UserError, match='must be a .py file'):
        write_leaf(str(tmp_path / 'a.yml'), str(tmp_path / 'a.py'), cfg, cfg)
