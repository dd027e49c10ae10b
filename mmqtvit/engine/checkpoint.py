"""Checkpoints that a user names: found, and compared with the model."""

import os
import re
from typing import Optional

from mmengine.hooks import Hook
from mmengine.model import BaseTTAModel, is_model_wrapper
from mmengine.runner import Runner, find_latest_checkpoint
from torch import nn

from ..backbones import EfficientViT
from ..errors import UserError
from ..weights.load import convert, group

BACKBONE_HINT = """It looks like the weights of a backbone. To start training from them:
  --cfg-options model.backbone.init_cfg.type=Pretrained model.backbone.init_cfg.checkpoint={}"""


def latest_checkpoint(work_dir: str) -> Optional[str]:
    """The last checkpoint that training wrote in ``work_dir``, None if there is none.

    Raises:
        UserError: If ``last_checkpoint`` names a file that is gone.
    """
    if not os.path.isfile(os.path.join(work_dir, 'last_checkpoint')):
        return None
    path = find_latest_checkpoint(work_dir)
    moved = os.path.join(work_dir, os.path.basename(path))  # the folder may have been
    for candidate in (path, moved):
        if os.path.exists(candidate):
            return candidate
    raise UserError(f'{work_dir}/last_checkpoint names {path}, which is not there; name another '
                    f'file with --resume FILE')


def check_resumable(checkpoint: dict, source: str) -> None:
    """Raise :class:`UserError` if training cannot go on from ``checkpoint``."""
    if 'meta' not in checkpoint or 'message_hub' not in checkpoint:
        raise UserError(f'{source} holds weights only, so training cannot be resumed from it; to '
                        f'start from its weights use --cfg-options load_from={source}')


def check_match(model: nn.Module, checkpoint: dict, source: str) -> None:
    """Raise :class:`UserError` if nothing in ``checkpoint`` fits ``model``.

    mmengine would warn and go on with random weights. A part that fits is loaded; mmengine then
    lists what is missing.

    Args:
        model (nn.Module): The runner's model, wrapped or not.
        checkpoint (dict): As :func:`read_checkpoint` returns it.
        source (str): Where it comes from.
    """
    expected = _unwrapped(model).state_dict()
    found = {re.sub(r'^module\.', '', key): value
             for key, value in checkpoint.get('state_dict', checkpoint).items()}
    same_name = found.keys() & expected.keys()
    if any(getattr(found[key], 'shape', None) == expected[key].shape for key in same_name):
        return
    lines = [f'nothing in {source} fits the model of the config.',
             'In the file:  ' + _some(found), 'In the model: ' + _some(expected)]
    if any(f'backbone.{key}' in expected for key in found):
        lines.append(BACKBONE_HINT.format(source))
    raise UserError('\n'.join(lines))


def translate(model: nn.Module, checkpoint: dict, source: str) -> Optional[dict]:
    """Rename the published weights of a whole model to the names that mmengine will look for.

    Args:
        model (nn.Module): The runner's model, wrapped or not.
        checkpoint (dict): As :func:`read_checkpoint` returns it.
        source (str): Where it comes from.

    Returns:
        dict[str, Tensor] | None: None if the names are the model's already, or no known ones.

    Raises:
        UserError: If the layout is a known one, but the file lacks a part of the model.
    """
    model = _unwrapped(model)
    if not isinstance(getattr(model, 'backbone', None), EfficientViT):
        return None
    try:
        converted, report = convert(checkpoint, model)
    except UserError:
        return None
    if report.layout == 'mmqtvit':
        return None
    if report.missing or report.misshaped:
        raise UserError(
            f'{source} is of the {report.layout} layout, but does not fit the whole model of the '
            f'config.\nNot in the file, or of another shape: '
            f'{group(report.missing + report.misshaped)}\n{BACKBONE_HINT.format(source)}')
    return converted


class LoadTranslated(Hook):
    """Has mmengine load renamed weights in place of a file's own.

    Args:
        state_dict (dict[str, Tensor]): From :func:`translate`.
    """

    priority = 'HIGHEST'  # an EMA hook reads the weights at the same point

    def __init__(self, state_dict: dict) -> None:
        self.state_dict = state_dict

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Replace what was read by what is to be loaded."""
        checkpoint.clear()
        checkpoint['state_dict'] = self.state_dict


def _unwrapped(model: nn.Module) -> nn.Module:
    while is_model_wrapper(model) or isinstance(model, BaseTTAModel):
        model = model.module
    return model


def _some(tensors: dict, count: int = 4) -> str:
    names = [f'{key} {tuple(getattr(value, "shape", ()))}'
             for key, value in list(tensors.items())[:count]]
    return ', '.join(names) + (', …' if len(tensors) > count else '')
