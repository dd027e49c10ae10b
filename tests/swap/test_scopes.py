"""Configs that name no default_scope, or that of a package built on a toolbox."""

import pytest
from mmengine import Config
from mmengine.registry import MODELS
from torch import nn

from mmqtvit.cfg.read import read_config
from mmqtvit.errors import UserError
from mmqtvit.swap import check_config, plan_swap, write_leaf

from ..helpers.packages import write_package
from ..helpers.toy import write_toy
from ..tools.test_command_lines import status, tool

ARCH = dict(series='b', widths=[4, 8, 8, 16, 24], depths=[1, 1, 1, 1, 1], head_dim=8)


@pytest.mark.parametrize('toolbox', ['mmseg', 'mmdet'])
@pytest.mark.parametrize('scope', ['', 'default_scope = None'])
def test_without_a_scope(toolbox, scope, tmp_path):
    path = tmp_path / f'toy_{toolbox}.py'
    write_toy(tmp_path, toolbox)
    path.write_text(path.read_text().replace(f"default_scope = '{toolbox}'", scope))
    cfg = read_config(str(path))
    plan = plan_swap(cfg, ARCH)
    assert any(f'default_scope = {toolbox!r} is added' in note for note in plan.changes.notes)
    leaf = tmp_path / 'leaf.py'
    write_leaf(str(leaf), str(path), cfg, plan.apply(cfg))
    written = Config.fromfile(leaf)
    assert written.default_scope == toolbox
    assert check_config(written).loss > 0
    assert plan_swap(written, ARCH).apply(written).to_dict() == written.to_dict()


def test_a_base_file_with_a_model_only(tmp_path):
    """As in the folders _base_/models."""
    whole = Config.fromfile(write_toy(tmp_path))
    base = tmp_path / 'model.py'
    Config(dict(model=whole.model)).dump(base)
    cfg = read_config(str(base))
    del cfg.model['data_preprocessor']  # some toolboxes name it in the file of the data set
    swapped = plan_swap(cfg, ARCH).apply(cfg)
    assert swapped.default_scope == 'mmseg' and swapped.model.decode_head.in_channels == 24
    assert check_config(swapped, (32, 32)).loss > 0


class AloneForSwap(nn.Module):
    """Derives from no toolbox, and reads what a segmentor's head reads."""

    def __init__(self, backbone=None, decode_head=None, in_channels=None, in_index=None):
        super().__init__()


def test_the_user_names_the_scope(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if 'AloneForSwap' not in MODELS:
        MODELS.register_module(module=AloneForSwap)
    Config(dict(model=dict(
        type='AloneForSwap', backbone=dict(type='mmqtvit.QTViT', arch=ARCH),
        decode_head=dict(type='AloneForSwap', in_channels=24, in_index=3)))).dump('alone.py')
    assert status('swap_backbone', 'alone.py') == 2
    assert 'set default_scope in the config to one of mmdet' in capsys.readouterr().err
    tool('swap_backbone').main(['alone.py', '--arch', 'b0', '--scope', 'mmseg'])
    assert Config.fromfile('alone_b0.py').model.decode_head.in_channels == 128
    with pytest.raises(SystemExit):
        tool('swap_backbone').main(['alone.py', '--scope', 'mmx'])
    assert "invalid choice: 'mmx'" in capsys.readouterr().err


@pytest.mark.parametrize('parent', ['mmseg', 'mmengine'])
def test_a_package_on_a_toolbox(parent, tmp_path, monkeypatch):
    name = f'swapped_on_{parent}'
    path = tmp_path / 'toy_mmseg.py'
    write_toy(tmp_path)
    path.write_text(path.read_text().replace("'mmseg'", f"'{name}'").replace(
        "type='EncoderDecoder'", "type='Own', neck=dict(type='OwnNeck', in_channels=[8, 8, 16, 16])"
    ).replace("'FCNHead', in_channels=16", "'mmseg.FCNHead', in_channels=8").replace(
        'SegDataPreProcessor', 'mmseg.SegDataPreProcessor').replace(
        'CrossEntropyLoss', 'mmseg.CrossEntropyLoss'))
    cfg = read_config(str(path))
    with pytest.raises(UserError, match=f'the package {name} cannot be imported'):
        plan_swap(cfg, ARCH)
    write_package(tmp_path, name, parent)
    monkeypatch.syspath_prepend(str(tmp_path))
    swapped = plan_swap(cfg, ARCH).apply(cfg)
    assert swapped.default_scope == name
    assert swapped.model.neck.in_channels == [8, 8, 16, 24]
    assert check_config(swapped).loss > 0
