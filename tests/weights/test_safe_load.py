"""Training checkpoints are read; files that would run code are not."""

import os
import pickle
import re
from collections import OrderedDict

import numpy as np
import pytest
import torch
from mmengine.logging import HistoryBuffer

from mmqtvit.errors import UserError
from mmqtvit.weights import allow_openmmlab_checkpoints, read_checkpoint
from mmqtvit.weights.safe_load import openmmlab_globals


class Call:
    """Pickles as the call of ``function`` with ``arguments``."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def saved(tmp_path, content):
    path = str(tmp_path / 'checkpoint.pth')
    torch.save(content, path)
    return path


def test_history_is_read_back(tmp_path):
    history = HistoryBuffer([1., 2., 4.], [1, 1, 2])
    path = saved(tmp_path, dict(
        state_dict=OrderedDict(weight=torch.eye(2)), message_hub=dict(log_scalars=dict(l=history))))
    loaded = read_checkpoint(path)
    buffer = loaded['message_hub']['log_scalars']['l']
    assert type(buffer) is HistoryBuffer
    assert buffer.mean() == history.mean() == 1.75
    assert buffer.statistics('max', 2) == 4
    assert buffer.data[0].dtype == np.float64
    buffer.update(3)  # as training goes on
    assert buffer.current() == 3
    torch.testing.assert_close(loaded['state_dict']['weight'], torch.eye(2))


@pytest.mark.parametrize('dtype', ['?', 'u1', 'i4', 'i8', 'f2', 'f4', 'f8', 'c8'])
def test_numpy_is_read_back(tmp_path, dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    content = dict(array=array, fortran=np.asfortranarray(array), scalar=array[1, 2],
                   empty=array[:0])
    loaded = read_checkpoint(saved(tmp_path, content))
    for name, value in content.items():
        assert type(loaded[name]) is type(value)
        assert loaded[name].dtype == value.dtype
        np.testing.assert_array_equal(loaded[name], value)


def write_stream(path, stream: bytes) -> str:
    """Write a pickle as torch.save did before it made zip archives."""
    with open(path, 'wb') as file:
        for header in (torch.serialization.MAGIC_NUMBER, torch.serialization.PROTOCOL_VERSION,
                       dict(protocol_version=1001, little_endian=True, type_sizes={})):
            pickle.dump(header, file, 2)
        file.write(stream)
        pickle.dump([], file, 2)  # no tensors
    return str(path)


@pytest.mark.parametrize('package', [b'numpy.core', b'numpy._core'])
def test_names_before_and_since_numpy_2(tmp_path, package):
    content = dict(array=np.arange(3), scalar=np.float32(0.5))
    stream = re.sub(rb'numpy\._?core', package, pickle.dumps(content, 2))
    assert package in stream
    loaded = read_checkpoint(write_stream(tmp_path / 'checkpoint.pth', stream))
    np.testing.assert_array_equal(loaded['array'], content['array'])
    assert loaded['scalar'] == content['scalar']


GLOBALS_OF_MEAN = Call(getattr, Call(getattr, HistoryBuffer, 'mean'), '__globals__')


@pytest.mark.parametrize('content, blamed', [
    (Call(os.system, 'touch MARKER'), 'posix.system'),
    (Call(eval, "open('MARKER', 'w')"), 'eval'),
    (Call(setattr, HistoryBuffer, 'mean', 1), 'setattr'),
    (Call(np.load, 'MARKER'), 'numpy.load'),
    (Call(getattr, HistoryBuffer, '__init__'), "'__init__'"),
    (Call(getattr, HistoryBuffer, 'register_statistics'), "'register_statistics'"),
    (GLOBALS_OF_MEAN, "'__globals__'"),
    (Call(getattr, GLOBALS_OF_MEAN, 'get'), "'__globals__'"),
    (Call(np.ndarray, (1, ), 'O', b'AAAAAAAA'), None),
    (np.array([object()]), "numpy.dtype('O8')"),
    (np.zeros(2, [('a', 'f4')]), "numpy.dtype('V4')"),
])
def test_code_is_refused(tmp_path, content, blamed):
    marker = tmp_path / 'marker'
    if isinstance(content, Call):
        content = Call(content.function, *(
            part.replace('MARKER', str(marker)) if isinstance(part, str) else part
            for part in content.arguments))
    check_refused(saved(tmp_path, dict(state_dict={}, extra=content)), blamed)
    assert not marker.exists()


def test_module_found_through_another_is_refused(tmp_path):
    marker = tmp_path / 'marker'
    # getattr(posixpath.os, 'system')('touch …'), which no object pickles to by itself
    stream = (b'\x80\x02c__builtin__\ngetattr\n(cposixpath\nos\n' + unicode_operand('system')
              + b'tR(' + unicode_operand(f'touch {marker}') + b'tR.')
    path = write_stream(tmp_path / 'checkpoint.pth', stream)
    check_refused(path, 'posixpath.os')
    assert not marker.exists()


def unicode_operand(text: str) -> bytes:
    return b'X' + len(text).to_bytes(4, 'little') + text.encode()


def check_refused(path, blamed):
    with pytest.raises(UserError) as error:
        read_checkpoint(path)
    message = str(error.value)
    assert path in message
    assert 'trust' in message or blamed is None
    assert blamed is None or blamed in message
    assert len(message.splitlines()) <= 5
    assert 'weights_only=False' not in message


def test_the_switch_that_turns_protection_off_has_no_effect(tmp_path, monkeypatch):
    monkeypatch.setenv('TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD', '1')
    path = saved(tmp_path, Call(os.system, f'touch {tmp_path}/marker'))
    with allow_openmmlab_checkpoints(), pytest.raises(pickle.UnpicklingError):
        torch.load(path, weights_only=False)
    assert not (tmp_path / 'marker').exists()
    assert os.environ['TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD'] == '1'


def test_nothing_stays_changed():
    environment = dict(os.environ)
    before = torch.serialization.get_safe_globals()
    own = [OSError, HistoryBuffer]  # one of them is on our list too
    with torch.serialization.safe_globals(own):
        with allow_openmmlab_checkpoints():
            with allow_openmmlab_checkpoints():
                pass
            assert {*openmmlab_globals()} <= {*torch.serialization.get_safe_globals()}
        assert set(torch.serialization.get_safe_globals()) == {*before, *own}
    assert set(torch.serialization.get_safe_globals()) == {*before}
    assert dict(os.environ) == environment
