"""Lets training checkpoints be read without running code that a file may carry.

A checkpoint of mmengine holds more than weights: the history of every logged number as
:class:`mmengine.logging.HistoryBuffer`, in it NumPy arrays, and methods of that class, which
pickle stores as calls of ``getattr``. ``torch.load(weights_only=True)`` refuses them. Here they
are let in, by stand-ins that can do nothing else.
"""

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from mmengine.logging import HistoryBuffer
from mmengine.utils import digit_version

# torch 2.6 lets a stand-in take another's name, and loads with weights_only by default.
CAN_RESTRICT = digit_version(torch.__version__) >= digit_version('2.6')
HISTORY_STATISTICS = ('min', 'max', 'mean', 'current')


class NDArray:
    """Stands in for ``numpy.ndarray``, whose constructor can be made to read any memory."""


def history_statistic(owner: type, name: str) -> object:
    """Stands in for ``getattr``: only for the statistics that a HistoryBuffer lists."""
    if owner is not HistoryBuffer or name not in HISTORY_STATISTICS:
        raise pickle.UnpicklingError(f'GLOBAL getattr({owner!r}, {name!r}) is not allowed')
    return HistoryBuffer.__dict__[name]


def numeric_dtype(name: str, align: bool = False, copy: bool = False) -> np.dtype:
    """Stands in for ``numpy.dtype``: only for NumPy's own numeric types.

    Always the shared instance, whatever ``copy`` says: other than a copy, it cannot be given
    fields or flags by the state that follows in the file.
    """
    dtype = np.dtype(name) if isinstance(name, str) else None
    if dtype is None or dtype.kind not in 'biufc' or dtype is not np.dtype(dtype.type):
        raise pickle.UnpicklingError(f'GLOBAL numpy.dtype({name!r}) is not allowed')
    return dtype


def empty_array(array_type: type, shape: tuple, typecode: bytes) -> np.ndarray:
    """Stands in for ``_reconstruct``; shape, type and data follow as the array's state."""
    return np.empty(0, np.int8)


def scalar(dtype: np.dtype, data: bytes) -> np.generic:
    """Stands in for NumPy's function of that name."""
    return np.frombuffer(data, dtype, count=1)[0]


def no_bytes() -> bytes:
    """Stands in for ``bytes``, which pickle calls for the data of an empty array."""
    return b''


def openmmlab_globals() -> list:
    """What a training checkpoint may hold besides tensors and plain Python values.

    Returns:
        list[type | tuple]: For ``torch.serialization.safe_globals``.
    """
    functions = [(history_statistic, 'builtins.getattr'), (NDArray, 'numpy.ndarray'),
                 (numeric_dtype, 'numpy.dtype'), (no_bytes, 'builtins.bytes')]
    for package in ('numpy.core', 'numpy._core'):  # before and since NumPy 2
        functions += [(empty_array, f'{package}.multiarray._reconstruct'),
                      (scalar, f'{package}.multiarray.scalar')]
    # PyTorch also asks for the types whose state is restored. These are listed under names
    # without a dot, so that no file can call them by name.
    codes = '?' + np.typecodes['AllInteger'] + np.typecodes['AllFloat']
    types = {np.ndarray, *(type(np.dtype(code)) for code in codes)}
    return [HistoryBuffer, *functions, *((kind, kind.__name__) for kind in types)]


@contextmanager
def allow_openmmlab_checkpoints() -> Iterator[None]:
    """Make every ``torch.load`` inside restricted, and able to read training checkpoints.

    Also calls that pass ``weights_only=False``, as mmengine's for addresses, and whatever
    TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD says. Afterwards all is as before. On a torch before 2.6 this
    does nothing, see :data:`CAN_RESTRICT`.
    """
    if not CAN_RESTRICT:
        yield
        return
    on, off = 'TORCH_FORCE_WEIGHTS_ONLY_LOAD', 'TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD'
    switches = {name: os.environ.pop(name) for name in (on, off) if name in os.environ}
    # PyTorch's context takes away on leaving all that it was given: also what was allowed before.
    allowed = torch.serialization.get_safe_globals()
    added = [each for each in openmmlab_globals() if each not in allowed]
    os.environ[on] = '1'
    try:
        with torch.serialization.safe_globals(added):
            yield
    finally:
        del os.environ[on]
        os.environ.update(switches)
