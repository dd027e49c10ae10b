"""Reads checkpoint files."""

import os
import pickle
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

from mmengine.runner import CheckpointLoader

from ..errors import UserError
from .safe_load import allow_openmmlab_checkpoints


def read_checkpoint(source: str) -> dict:
    """Read a checkpoint without running what it may hold.

    Args:
        source (str): A file, or an address that mmengine knows.

    Returns:
        dict: The checkpoint.

    Raises:
        UserError: If it is not there, cannot be read, would run code, or is no checkpoint.
    """
    if not is_address(source) and not os.path.isfile(os.path.expanduser(source)):
        what = 'is a folder' if os.path.isdir(os.path.expanduser(source)) else 'is not there'
        raise UserError(f'checkpoint {source} {what}')
    try:
        checkpoint = _read(source)
    except pickle.UnpicklingError as error:
        raise UserError(refusal(source, error)) from error
    except Exception as error:
        reason = str(error).strip().split('\n')[0] or type(error).__name__
        raise UserError(f'{source} cannot be read as a checkpoint, it may be cut short or another '
                        f'kind of file: {reason}') from error
    if not isinstance(checkpoint, dict):
        raise UserError(f'{source} is no checkpoint: it holds a {type(checkpoint).__name__}')
    return checkpoint


def _read(source: str) -> dict:
    if source.endswith('.safetensors') and not is_address(source):
        from safetensors.torch import load_file
        return load_file(os.path.expanduser(source))
    with allow_openmmlab_checkpoints():
        return CheckpointLoader.load_checkpoint(source, 'cpu', logger='silent')


@contextmanager
def already_read(source: Optional[str], checkpoint: Optional[dict]) -> Iterator[None]:
    """Give mmengine what was read, when it next asks for the file.

    Args:
        source (str, optional): The file, as mmengine will name it.
        checkpoint (dict, optional): What is to be taken for its content; None: mmengine reads.
    """
    schemes = CheckpointLoader._schemes
    held = [checkpoint]
    del checkpoint  # it is not to stay in memory while the model is trained

    def load_from_memory(filename: str, map_location: object = None) -> dict:
        CheckpointLoader._schemes = schemes
        return held.pop()

    if held[0] is not None:
        CheckpointLoader._schemes = {f'{re.escape(source)}$': load_from_memory, **schemes}
    try:
        yield
    finally:
        CheckpointLoader._schemes = schemes


def refusal(source: str, error: pickle.UnpicklingError) -> str:
    """Say in a few lines why a checkpoint is not read and what can be done."""
    # PyTorch's text is long, and recommends to switch the protection off.
    blamed = re.search(r'GLOBAL (getattr\(.*\)|\S+)', str(error))
    reason = (f'it asks for {blamed[1]}, which could run code'
              if blamed else 'it is not written by torch.save, or asks for what could run code')
    return (f'{source} was not loaded: {reason}.\n'
            'Only tensors, plain Python values, NumPy numbers and the log history of mmengine are '
            'read.\nTake the file from a source you trust, or have its author save the weights '
            "alone:\n  torch.save({'state_dict': model.state_dict()}, FILE)")


def is_address(source: str) -> bool:
    """Whether ``source`` is ``https://…``, ``torchvision://…`` or the like, not a file."""
    return '://' in source or source.startswith(('modelzoo:', 'open-mmlab:'))
