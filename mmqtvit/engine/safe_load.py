"""Reads checkpoints without running code that they may carry."""

import pickle
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.logging import HistoryBuffer

from .errors import UserError

HISTORY_STATISTICS = ('min', 'max', 'mean', 'current')


def _history_statistic(owner: Any, name: str) -> Any:
    """Stand in for ``getattr``, by which a pickled HistoryBuffer names its statistics."""
    if owner is HistoryBuffer and name in HISTORY_STATISTICS:
        return getattr(HistoryBuffer, name)
    raise pickle.UnpicklingError(f'getattr({owner!r}, {name!r}) is not part of a training record')


def allow_openmmlab_checkpoints() -> AbstractContextManager:
    """Let ``torch.load`` read OpenMMLab's training checkpoints with ``weights_only=True``.

    Besides tensors they hold the training record: NumPy arrays and ``HistoryBuffer``. These, and
    nothing else, are allowed inside the context; ``getattr`` only as far as ``HistoryBuffer``
    needs it. Before PyTorch 2.6, which does not load with ``weights_only=True`` by default, the
    context does nothing.
    """
    if not hasattr(torch.serialization, 'safe_globals'):
        return nullcontext()
    multiarray = np.core.multiarray
    # NumPy 2 renamed the module; files from either side of the change are read.
    functions = [(getattr(multiarray, name), f'numpy.{module}.multiarray.{name}')
                 for name in ('_reconstruct', 'scalar') for module in ('core', '_core')]
    dtypes = [type(np.dtype(code)) for code in ('f2', 'f4', 'f8', 'i4', 'i8', 'u1', '?')]
    return torch.serialization.safe_globals([
        HistoryBuffer, (_history_statistic, 'builtins.getattr'), *functions, np.ndarray, np.dtype,
        *dtypes
    ])


def read_checkpoint(path: str) -> dict:
    """Read a checkpoint file onto the CPU.

    Args:
        path (str): A local file.

    Returns:
        dict: What was saved, usually with ``state_dict`` and ``meta``.

    Raises:
        UserError: If the file is missing, is no checkpoint, or would run code.
    """
    if not Path(path).is_file():
        raise UserError(f'checkpoint {path} not found')
    try:
        with allow_openmmlab_checkpoints():
            checkpoint = torch.load(path, map_location='cpu', weights_only=True)
    except pickle.UnpicklingError as error:
        reason = str(error).replace('\n', ' ')
        start = reason.find('Unsupported')
        raise UserError(
            f'checkpoint {path} was refused: it holds more than tensors and a training record, so '
            'reading it could run code. If you trust its author, load it in a script of your own '
            'with torch.load(..., weights_only=False) and save its state_dict anew.\n'
            f'PyTorch says: {reason[max(start, 0):][:300]}') from error
    except (RuntimeError, EOFError, KeyError) as error:
        raise UserError(f'{path} is no checkpoint: {str(error)[:300]}') from error
    if not isinstance(checkpoint, dict):
        raise UserError(f'{path} holds a {type(checkpoint).__name__}, not a checkpoint')
    return checkpoint


def require_matching_keys(model: torch.nn.Module, path: str) -> None:
    """Make sure that a local checkpoint is of this kind of model.

    mmengine goes on with random weights, after a warning, when no key matches.

    Raises:
        UserError: If nothing matches; the message shows some keys of both sides.
    """
    checkpoint = read_checkpoint(path)
    found = {key.replace('module.', '') for key in checkpoint.get('state_dict', checkpoint)}
    expected = {key.replace('module.', '') for key in model.state_dict()}
    if found & expected:
        return
    raise UserError(
        f'no key of checkpoint {path} matches the model, which would stay random.\n'
        f'  the file has: {", ".join(sorted(map(str, found))[:4])}, …\n'
        f'  the model has: {", ".join(sorted(expected)[:4])}, …')
