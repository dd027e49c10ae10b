"""The measuring tools from the command line, at sizes that take no time."""

import json

import cv2
import numpy as np
import pytest
import torch

from mmqtvit import QTViT

from ..tools.test_command_lines import status, tool

FAST = ['--warmup', '1', '--repeats', '1', '--device', 'cpu', '--threads']


@pytest.fixture()
def fast():
    """Arguments for one call on as many threads as there are now."""
    return [*FAST, str(torch.get_num_threads())]


def run(name, *argv):
    tool(f'analysis/{name}').main([str(argument) for argument in argv])


def test_get_flops(capsys):
    run('get_flops', 'b0', '--size', 32, 64)
    shown = capsys.readouterr().out
    assert 'b0, one image of 32×64' in shown and '| stages.3 |' in shown and '| all ' in shown


def test_benchmark(fast, tmp_path, capsys):
    run('benchmark', 'b0', '--sizes', '32x64', '--modes', 'eager', 'channels_last', *fast,
        '--out', tmp_path / 'out.json', '--plot', tmp_path / 'out.png')
    shown = capsys.readouterr().out
    for part in ('device cpu', 'threads', 'batch 1', '1 warm-up calls', 'channels_last', '32x64'):
        assert part in shown
    assert len(json.loads((tmp_path / 'out.json').read_text())['results']) == 2
    assert (tmp_path / 'out.png').stat().st_size > 1000


def test_benchmark_attention(fast, tmp_path, capsys):
    run('benchmark_attention', 'literal', 'ReLULinear', '--sizes', '4x4', '--groups', 2,
        '--head-dim', 4, *fast, '--out', tmp_path / 'out.csv', '--plot', tmp_path / 'out.png')
    shown = capsys.readouterr().out
    assert 'ns per token' in shown and 'groups 2, head_dim 4' in shown
    assert len((tmp_path / 'out.csv').read_text().splitlines()) == 3
    assert (tmp_path / 'out.png').stat().st_size > 1000


def test_compare_kernels(fast, tmp_path, capsys):
    run('compare_kernels', 'ReLULinear', '--map-sizes', '2x3', '--arch', 'b0', *fast,
        '--out', tmp_path / 'out.csv', '--plot', tmp_path / 'out.png')
    shown = capsys.readouterr().out
    assert 'pixels_per_token 16' in shown and '| qtvit6 ' in shown
    assert len((tmp_path / 'out.csv').read_text().splitlines()) == 2


def test_shares_alone(capsys, monkeypatch):
    monkeypatch.setattr(QTViT, 'ARCHS', {'qtvit1': QTViT.ARCHS['qtvit1']})
    run('compare_kernels', '--shares')
    shown = capsys.readouterr().out
    assert '| qtvit1 ' in shown and 'ms' not in shown


def test_attention_map(tmp_path, capsys):
    cv2.imwrite(str(tmp_path / 'image.png'), np.zeros((32, 64, 3), np.uint8))
    run('attention_map', tmp_path / 'image.png', 'b0', '--query', 63, 31, '--out',
        tmp_path / 'map.png')
    assert 'ReLULinear | b0, random weights: 2×4 weights' in capsys.readouterr().out
    assert cv2.imread(str(tmp_path / 'map.png')).shape[1] == 960


@pytest.mark.parametrize(('argv', 'message'), [
    (['get_flops', 'qtvit7'], "no model 'qtvit7'"),
    (['get_flops', 'b0', '--size', '0', '4'], '--size takes two positive numbers'),
    (['benchmark', 'b0', '--sizes', '32'], "HEIGHTxWIDTH, such as 512x1024, got '32'"),
    (['benchmark', 'b0', '--modes', 'fast'], "got 'fast'"),
    (['benchmark', 'b0', '--batch', '0'], '--batch must be at least 1, got 0'),
    (['benchmark', 'b0', '--repeats', '0'], '--repeats must be positive, got 0'),
    (['benchmark', 'b0', '--threads', '0'], '--threads must be at least 1, got 0'),
    (['benchmark', 'b0', '--device', 'nowhere'], '--device nowhere cannot be used'),
    (['benchmark_attention', 'Soft'], "no kernel 'Soft'"),
    (['benchmark_attention', '--groups', '0'], '--groups and --head-dim must be positive'),
    (['compare_kernels', '--map-sizes', '2x2'], '--map-sizes 2x2: a batch norm cannot train'),
    (['compare_kernels', '--imports', 'no_such_module'], "No module named 'no_such_module'"),
    (['compare_kernels', 'literal'], "no kernel 'literal'"),
    (['compare_kernels', '--arch', 'qtvit7'], "invalid choice: 'qtvit7'"),
    (['benchmark', 'b0', '--sizes', '32x32', '--passes', 'train'], 'or --batch 2'),
    (['attention_map', 'missing.jpg', 'b0', '--query', '1', '1'], 'missing.jpg cannot be read'),
])
def test_mistakes(argv, message, capsys):
    name, *rest = argv
    assert status(f'analysis/{name}', *rest) == 2
    assert message in capsys.readouterr().err
