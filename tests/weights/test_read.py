"""Checkpoint files are read once, and mmengine is given what was read."""

import pytest
import torch
from mmengine.runner import CheckpointLoader

from mmqtvit.errors import UserError
from mmqtvit.weights import read_checkpoint
from mmqtvit.weights.read import already_read


def test_mmengine_takes_what_was_read_once(tmp_path):
    path = str(tmp_path / 'a.pth')
    torch.save({'a': torch.zeros(1)}, path)
    before = CheckpointLoader._schemes
    with already_read(path, {'b': 1}):
        assert CheckpointLoader.load_checkpoint(path, 'cpu') == {'b': 1}
        assert CheckpointLoader.load_checkpoint(path, 'cpu').keys() == {'a'}
    with already_read(path, {'b': 1}):
        pass
    assert CheckpointLoader._schemes is before


def test_another_file_is_read_as_ever(tmp_path):
    torch.save({'a': torch.zeros(1)}, tmp_path / 'a.pth')
    with already_read(str(tmp_path / 'b.pth'), {'b': 1}):
        assert CheckpointLoader.load_checkpoint(str(tmp_path / 'a.pth'), 'cpu').keys() == {'a'}


def test_safetensors(tmp_path):
    safetensors = pytest.importorskip('safetensors.torch')
    safetensors.save_file({'a': torch.ones(1)}, tmp_path / 'a.safetensors')
    assert torch.equal(read_checkpoint(str(tmp_path / 'a.safetensors'))['a'], torch.ones(1))
    (tmp_path / 'b.safetensors').write_text('no tensors')
    with pytest.raises(UserError, match='cannot be read as a checkpoint'):
        read_checkpoint(str(tmp_path / 'b.safetensors'))
