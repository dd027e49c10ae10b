"""Writes the weights of a training checkpoint so that every reader of OpenMMLab's takes them."""

import hashlib
from io import BytesIO
from pathlib import Path
from typing import Any, Optional

import numpy as np
import torch

from ..errors import UserError

#: What is kept of the record: the class names, the config, from which mmengine's inferencers build
#: the model when they are given weights alone, and where the weights come from.
KEPT = ('dataset_meta', 'cfg', 'epoch', 'iter', 'experiment_name', 'mmengine_version')


def publish_checkpoint(checkpoint: dict, out: Path) -> Path:
    """Write the weights of a whole model, its class names and its config.

    The optimiser's state and the log are left out: they make the file several times larger, and
    since PyTorch 2.6 the toolboxes' own functions and scripts do not read the log. Of a training
    with averaged weights (EMA) the average is written, which mmengine keeps as the weights.

    Args:
        checkpoint (dict): As training writes it.
        out (Path): As for :func:`save_with_hash`.

    Returns:
        Path: The file. It holds tensors and plain Python values only, so that
        ``torch.load(weights_only=True)`` reads it.

    Raises:
        UserError: If the checkpoint is not one of a training, or the file cannot be written.
    """
    state_dict, meta = checkpoint.get('state_dict'), checkpoint.get('meta')
    if not isinstance(state_dict, dict) or not isinstance(meta, dict):
        raise UserError('a checkpoint that training wrote has state_dict and meta, this one has '
                        f'{", ".join(map(str, list(checkpoint)[:4])) or "nothing"}; '
                        'tools/convert_checkpoint.py takes files of weights alone')
    return save_with_hash(state_dict, out, {key: _plain(meta[key]) for key in KEPT if key in meta})


def save_with_hash(state_dict: dict, out: Path, meta: Optional[dict] = None) -> Path:
    """Save as ``<stem>-<first 8 digits of the file's SHA-256>.pth``, as OpenMMLab publishes.

    Args:
        state_dict (dict[str, Tensor]): Saved under ``state_dict``.
        out (Path): Where to; its folder is made. The name may end in .pth, .pt or neither.
        meta (dict, optional): Saved under ``meta``. Defaults to None, an empty one.

    Returns:
        Path: The file.

    Raises:
        UserError: If the name is of a safetensors file, or the file cannot be written.
    """
    if out.suffix == '.safetensors' or not out.name:
        raise UserError(f'a .pth file is written, so OUT must be named as one, got {out}')
    stem = out.stem if out.suffix in ('.pth', '.pt') else out.name
    content = BytesIO()
    torch.save({'meta': meta or {}, 'state_dict': state_dict}, content)
    digest = hashlib.sha256(content.getbuffer()).hexdigest()
    path = out.with_name(f'{stem}-{digest[:8]}.pth')
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.getbuffer())
    except OSError as error:
        raise UserError(f'cannot write {path}: {error.strerror}') from error
    return path


def _plain(value: Any) -> Any:
    """Replace NumPy's arrays and numbers by lists and numbers of Python."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    return value
