"""``tools/swap_backbone.py``: what it writes, prints and refuses."""

import pytest
from mmengine import Config

from mmqtvit.backbones.zoo import arch_names

from ..helpers.toy import write_toy
from ..tools.test_command_lines import status, tool


def test_writes_and_checks(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv('COLUMNS', '200')
    monkeypatch.chdir(tmp_path)
    tool('swap_backbone').main([write_toy(tmp_path), '--arch', 'b0', '--check'])
    shown = capsys.readouterr().out
    assert 'type' in shown and 'QTViT' in shown and 'EfficientViT b0' in shown
    assert 'on images of 32×32' in shown and shown.count('4, 8, 16, 32') == 2
    assert '8, 8, 16, 16' in shown and '16, 32, 64, 128' in shown
    assert 'parameters, M' in shown and 'multiply–adds, G' in shown
    assert 'model.decode_head.in_channels' in shown
    assert 'checked at 32×32: predicts, and takes a loss step' in shown
    text = (tmp_path / 'toy_mmseg_b0.py').read_text()
    assert "_base_ = './toy_mmseg.py'" in text and len(text.splitlines()) < 20
    assert Config.fromfile('toy_mmseg_b0.py').model.decode_head.in_channels == 128


def test_writes_nothing_if_it_refuses(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert status('swap_backbone', 'mmpretrain::vgg/vgg11_8xb32_in1k.py') == 2
    error = capsys.readouterr().err
    assert error.startswith('error: the backbone of this config cannot be exchanged: its head')
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize('argv, words', [
    (['none.py'], 'config none.py not found'),
    (['mmdet::none/none.py'], 'cannot read config mmdet::none/none.py'),
    (['CONFIG', '--arch', 'b9'], f"arch must be one of {', '.join(arch_names())}, got 'b9'"),
    (['CONFIG', '--checkpoint', 'none.pth'], 'there is no checkpoint none.pth'),
    (['CONFIG', '-o', 'out.json'], 'must be a .py file, got out.json'),
])
def test_mistakes(argv, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    config = write_toy(tmp_path)
    assert status('swap_backbone', *(config if word == 'CONFIG' else word for word in argv)) == 2
    assert words in capsys.readouterr().err


def test_brackets_in_names_are_no_marks_of_style(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv('COLUMNS', '200')
    monkeypatch.chdir(tmp_path)
    config = tmp_path / 'own[red].py'
    config.write_text(f"_base_ = '{write_toy(tmp_path)}'\n"
                      "model = dict(decode_head=dict(init_cfg=dict(prefix='[/b]')))")
    tool('swap_backbone').main([str(config), '--arch', 'b0'])
    assert 'written to own[red]_b0.py' in capsys.readouterr().out


def test_shows_what_differs_only(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv('COLUMNS', '200')
    config = tmp_path / 'own.py'
    config.write_text(f"""_base_ = '{write_toy(tmp_path)}'
model = dict(
    backbone=dict(_delete_=True, type='mmseg.ResNet', depth=18, base_channels=8, stem_channels=8),
    decode_head=dict(in_channels=64))
optim_wrapper = dict(paramwise_cfg=dict(custom_keys=dict(
    decode_head=dict(lr_mult=10.), layer1=dict(lr_mult=0.5))))
""")
    leaf = tmp_path / 'leaf.py'
    tool('swap_backbone').main([str(config), '--arch', 'b0', '-o', str(leaf)])
    shown = capsys.readouterr().out
    assert 'ResNet 18' in shown and '8, 16, 32, 64' in shown
    assert 'note: custom_keys for parameters of the old backbone are dropped: layer1' in shown
    assert 'custom_keys.decode_head' not in shown  # stays
    assert set(Config.fromfile(leaf).optim_wrapper.paramwise_cfg.custom_keys) == {'decode_head'}
