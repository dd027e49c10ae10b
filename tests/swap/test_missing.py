"""Configs of which something is not here: the old backbone, modules, necks and heads."""

import re

import pytest
from mmengine import Config

from mmqtvit.cfg.read import read_config
from mmqtvit.swap import SwapRefused, check_config, plan_swap, swap_backbone

from ..helpers.packages import write_package
from ..helpers.toy import write_toy
from ..tools.test_command_lines import status, tool

ARCH = dict(series='b', widths=[4, 8, 8, 16, 24], depths=[1, 1, 1, 1, 1], head_dim=8)
RETINANET = 'mmdet::retinanet/retinanet_r50_fpn_1x_coco.py'
UPERNET = 'mmseg::upernet/upernet_r50_4xb4-160k_ade20k-512x512.py'
FCN = 'mmseg::fcn/fcn_r50-d8_4xb4-80k_ade20k-512x512.py'
RESNET = 'mmpretrain::resnet/resnet50_8xb32_in1k.py'
QTVIT1 = [32, 64, 128, 256]


def without_backbone(config, **changes):
    """A config whose backbone only its author's training script registers."""
    cfg = read_config(config)
    cfg.model.backbone = dict(type='VMambaOfSomebody', dims=96, **changes)
    return cfg


@pytest.mark.parametrize(('config', 'read'), [
    (RETINANET, 'neck'), (UPERNET, 'decode_head'),
    ('mmdet::mask2former/mask2former_r50_8xb2-lsj-50e_coco.py', 'panoptic_head')])
def test_nobody_needs_the_old_backbone(config, read):
    cfg = without_backbone(config)
    plan = plan_swap(cfg)
    swapped = plan.apply(cfg)
    assert swapped.model[read].in_channels == QTVIT1
    assert [level.stride for level in plan.old.levels] == [4, 8, 16, 32]
    warning, = (text for text in plan.changes.warnings if 'VMambaOfSomebody' in text)
    assert 'is not registered' in warning and 'be 256 at stride 4, 512 at stride 8' in warning
    assert swap_backbone(swapped).to_dict() == swapped.to_dict()


def test_maps_are_counted_by_what_heads_read():
    cfg = without_backbone(FCN)  # the heads read maps 2 and 3 of 0 to 3
    plan = plan_swap(cfg)
    assert [level.channels for level in plan.old.levels] == [None, None, 1024, 2048]
    model = plan.apply(cfg).model
    assert (model.decode_head.in_channels, model.auxiliary_head.in_channels) == (256, 128)
    cfg.model.decode_head.in_index = -1
    del cfg.model.auxiliary_head
    with pytest.raises(SwapRefused, match='how many maps it has is not known.*--old-strides'):
        plan_swap(cfg)
    cfg.model.backbone.out_indices = (0, 1, 2, 3)
    assert plan_swap(cfg).apply(cfg).model.decode_head.in_channels == 256


def test_a_classifier_needs_no_strides():
    cfg = without_backbone(RESNET)
    assert swap_backbone(cfg).model.head.in_channels == 256
    assert swap_backbone(cfg).model.neck.type == 'GlobalAveragePooling'
    cfg.model.neck = None
    plan = plan_swap(cfg)
    assert plan.apply(cfg).model.neck.type == 'GlobalAveragePooling'
    assert any('now pools the last map' in text for text in plan.changes.warnings)


def test_maps_of_one_stride_by_their_neck():
    cfg = without_backbone('mmseg::vit/vit_deit-s16_mln_upernet_8xb2-160k_ade20k-512x512.py')
    plan = plan_swap(cfg)
    assert [level.stride for level in plan.old.levels] == [16] * 4
    model = plan.apply(cfg).model
    assert model.neck is None and model.decode_head.in_channels == QTVIT1


def test_strides_from_the_user(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cfg = without_backbone(RETINANET)
    cfg.model.neck.update(in_channels=[96, 192, 384], start_level=0)
    cfg.dump('three.py')
    assert status('swap_backbone', 'three.py') == 2
    assert 'its readers take 3 of its maps: name the strides' in capsys.readouterr().err
    tool('swap_backbone').main(['three.py', '--old-strides', '8,16,32'])
    shown = capsys.readouterr().out
    assert 'not built' in shown and 'assumed to be 96 at stride 8, 192' in shown
    model = Config.fromfile('three_qtvit1.py').model
    assert model.neck.in_channels == QTVIT1[1:] and model.backbone.out_indices == (1, 2, 3)
    assert status('swap_backbone', 'three.py', '--old-strides', '16,32') == 2
    assert 'has 3 outputs by what its readers take, got --old-strides 16, 32' in (
        capsys.readouterr().err)
    for wrong in ('8,x', '0,8', ''):
        with pytest.raises(SystemExit):
            tool('swap_backbone').main(['three.py', '--old-strides', wrong])
        assert f'invalid strides value: {wrong!r}' in capsys.readouterr().err


def test_a_backbone_that_needs_a_package(tmp_path, monkeypatch):
    write_package(tmp_path, 'with_kernels')
    with open(tmp_path / 'with_kernels/models.py', 'a') as file:
        file.write("\n\n@MODELS.register_module()\nclass Scan(nn.Module):\n"
                   "    def __init__(self):\n        import selective_scan_of_somebody\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    cfg = read_config(UPERNET)
    cfg.model.backbone = dict(type='with_kernels.Scan')
    plan = plan_swap(cfg)
    assert any('needs a package that is not here (No module named' in text
               for text in plan.changes.warnings)
    assert plan.apply(cfg).model.decode_head.in_channels == QTVIT1


def with_imports(path, modules, old='', new=''):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1)
                    + f'custom_imports = dict(imports={modules}, allow_failed_imports=False)\n')
    return path


def test_imports_that_the_model_does_not_need(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'broken_for_swap.py').write_text('import nothing_of_the_kind\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    write_toy(tmp_path)
    path = with_imports(
        tmp_path / 'toy_mmseg.py', ['somebody.transforms', 'broken_for_swap', 'json'],
        "type='LoadImageFromFile'", "type='LoadOfSomebody'")
    tool('swap_backbone').main([str(path), '--arch', 'b0', '--check'])
    shown = capsys.readouterr().out
    assert 'custom_imports names somebody.transforms, which cannot be imported here' in shown
    assert "No module named 'nothing_of_the_kind'" in shown and 'names json' not in shown
    assert 'checked at' in shown and (tmp_path / 'toy_mmseg_b0.py').is_file()


@pytest.mark.parametrize(('modules', 'kind', 'words'), [
    (['somebody.heads'], 'HeadOfSomebody',
     r'model\.decode_head is a HeadOfSomebody, which is not registered; custom_imports names '
     r"somebody\.heads, which cannot be imported \(.*No module named 'somebody'.*PYTHONPATH=\."),
    ([], 'somebody.Head',
     r'model\.decode_head is a somebody\.Head, .*the package somebody must be importable: install '
     r'it.*PYTHONPATH=\.'),
    ([], 'HeadOfSomebody', r'HeadOfSomebody, .*name the module .* in custom_imports.*PYTHONPATH=\.')
])
def test_a_head_that_is_not_registered(modules, kind, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_toy(tmp_path)
    path = with_imports(tmp_path / 'toy_mmseg.py', modules, "type='FCNHead'", f'type={kind!r}')
    assert status('swap_backbone', str(path)) == 2
    error = capsys.readouterr().err
    assert re.search(words, error) and len(error.splitlines()) == 1
    assert not (tmp_path / 'toy_mmseg_qtvit1.py').exists()


def test_a_neck_that_is_not_registered(tmp_path, monkeypatch):
    write_toy(tmp_path)
    path = tmp_path / 'toy_mmseg.py'
    path.write_text(path.read_text().replace(
        'decode_head=', "neck=dict(type='NeckOfSomebody', in_channels=[8, 8, 16, 16]), "
        'decode_head='))
    with pytest.raises(SwapRefused, match=r'model\.neck is a NeckOfSomebody'):
        swap_backbone(read_config(str(path)), ARCH)


def test_imports_that_the_model_needs(tmp_path, monkeypatch):
    """They are imported before the model is looked at, whoever read the config."""
    write_toy(tmp_path)
    write_package(tmp_path, 'registers_own')
    path = with_imports(tmp_path / 'toy_mmseg.py', ['registers_own.models'],
                        "type='EncoderDecoder'", "type='registers_own.Own'")
    monkeypatch.syspath_prepend(str(tmp_path))
    cfg = read_config(str(path), custom_imports=False)
    assert check_config(swap_backbone(cfg, ARCH)).loss > 0
