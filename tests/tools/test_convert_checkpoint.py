"""tools/convert_checkpoint.py: its table, its exit statuses, and files that it must not trust."""

import os

import pytest
import torch

from mmqtvit.apis.convert import Classifier
from tests.tools.test_command_lines import status, tool
from tests.weights.test_safe_load import Call


@pytest.fixture(scope='module')
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp('source') / 'b0.pth'
    torch.save({'state_dict': Classifier('b0', num_classes=2).state_dict()}, path)
    return path


def convert(*argv):
    tool('convert_checkpoint').main([str(argument) for argument in argv])


def written(folder):
    return torch.load(next(folder.iterdir()), weights_only=True)['state_dict']


def test_table_and_file(source, tmp_path, capsys):
    convert(source, tmp_path / 'out/b0.pth', '--to', 'published')
    text = capsys.readouterr().out
    for part in ('b0', 'from (mmqtvit)', 'to (published)', 'backbone.stages.2.*.attention',
                 'written to', 'out/b0-'):
        assert part in text
    assert 'head.op_list.3.linear.weight' in written(tmp_path / 'out')


def test_backbone_only(source, tmp_path):
    convert(source, tmp_path / 'out/b0.pth', '--backbone-only')
    names = written(tmp_path / 'out')
    assert not any(name.startswith(('backbone', 'head', 'neck')) for name in names)


def test_left_over_key(source, tmp_path, capsys):
    state_dict = torch.load(source, weights_only=True)['state_dict']
    path = tmp_path / 'more.pth'
    torch.save({**state_dict, 'momentum_encoder.weight': torch.zeros(1)}, path)
    assert status('convert_checkpoint', path, tmp_path / 'out/b0.pth') == 2
    assert 'left over, not converted: momentum_encoder.weight' in capsys.readouterr().err


def test_one_of_several_models(source, tmp_path, capsys):
    state_dict = torch.load(source, weights_only=True)['state_dict']
    path = tmp_path / 'two.pth'
    torch.save({'student': state_dict, 'teacher': state_dict}, path)
    assert status('convert_checkpoint', path, tmp_path / 'out/b0.pth') == 2
    assert '--prefix student' in capsys.readouterr().err
    convert(path, tmp_path / 'out/b0.pth', '--prefix', 'student')
    assert written(tmp_path / 'out').keys() == state_dict.keys()


def test_another_arch(source, tmp_path, capsys):
    assert status('convert_checkpoint', source, tmp_path / 'b1.pth', '--arch', 'b1') == 2
    assert 'no whole model of b1' in capsys.readouterr().err


def test_missing_file(tmp_path, capsys):
    assert status('convert_checkpoint', tmp_path / 'a.pth', tmp_path / 'b.pth') == 2
    assert 'a.pth is not there' in capsys.readouterr().err


def test_file_that_would_run_code(tmp_path, capsys):
    bad, marker = tmp_path / 'bad.pth', tmp_path / 'marker'
    torch.save({'state_dict': {}, 'meta': Call(os.system, f'touch {marker}')}, bad)
    assert status('convert_checkpoint', bad, tmp_path / 'out.pth') == 2
    error = capsys.readouterr().err
    assert 'posix.system' in error and 'could run code' in error
    assert [path.name for path in tmp_path.iterdir()] == ['bad.pth']
