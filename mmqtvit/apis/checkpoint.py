"""Checkpoints that a user names: found, and compared with the model."""

import os
from typing import Optional

from mmengine.model import BaseTTAModel, is_model_wrapper
from mmengine.runner import find_latest_checkpoint
from torch import nn

from ..backbones.zoo import is_own
from ..errors import UserError
from ..weights.load import Report, best_place, convert, group, places_of, unwrap

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


def check_match(model: nn.Module, checkpoint: dict, source: str, training: bool) -> dict:
    """Make sure that a checkpoint fits a model whose backbone is not of this package.

    mmengine would warn and go on with random weights. Numbers such as a batch norm's
    ``num_batches_tracked`` fit any model, so they do not count.

    Args:
        model (nn.Module): The runner's model, wrapped or not.
        checkpoint (dict): As :func:`read_checkpoint` returns it.
        source (str): Where it comes from.
        training (bool): Whether training starts from it: then half of the model or of its backbone
            is enough, else all parameters must be there.

    Returns:
        dict[str, Tensor]: The weights of the file; those that lie below a prefix of their own, such
        as ``module.``, without it.

    Raises:
        UserError: If too little of it fits, or the file holds several such models.
    """
    model = unwrapped(model)
    expected = {key: value for key, value in model.state_dict().items()
                if getattr(value, 'ndim', 0)}
    _check_state_dict(checkpoint, source)
    state_dict = unwrap(checkpoint)
    try:
        _, prefix, _ = best_place(places_of(state_dict), {key: key for key in expected})
    except UserError as error:
        raise UserError(f'{source}: {error}') from error
    found = {key.removeprefix(prefix): state_dict[key]
             for key in sorted(state_dict, key=lambda key: key.startswith(prefix))}
    lacking = [key for key, value in expected.items()
               if getattr(found.get(key), 'shape', None) != value.shape]
    nothing = len(lacking) == len(expected)
    if training:
        parts = [expected, [key for key in expected if key.startswith('backbone.')]]
        if any(part and 2 * len(set(part) & set(lacking)) <= len(part) for part in parts):
            return found
    elif not nothing:
        parameters = dict(model.named_parameters())
        if absent := [key for key in lacking if key in parameters]:
            raise UserError(f'{source} does not fit the whole model of the config.\n'
                            f'Not in the file, or of another shape: {group(absent)}')
        return found
    lines = [f'nothing in {source} fits the model of the config.' if nothing else
             f'less than half of the model of the config is in {source}.',
             'In the file:  ' + _some(found), 'In the model: ' + _some(expected)]
    if any(f'backbone.{key}' in expected for key in found):
        lines.append(BACKBONE_HINT.format(source))
    raise UserError('\n'.join(lines))


def translate(model: nn.Module, checkpoint: dict, source: str,
              training: bool) -> Optional[tuple[dict, Report]]:
    """Bring a whole model's weights, of any known layout, into what mmengine will load.

    Args:
        model (nn.Module): The runner's model, wrapped or not.
        checkpoint (dict): As :func:`read_checkpoint` returns it.
        source (str): Where it comes from.
        training (bool): Whether training starts from them: then heads of this package's layout
            may be missing or have other shapes, as for another number of classes.

    Returns:
        tuple[dict[str, Tensor], Report] | None: The weights under the model's names and what
        became of the file's; None if the backbone is not of this package.

    Raises:
        UserError: If the file is of another model, or lacks a part of this one.
    """
    model = unwrapped(model)
    if not is_own(getattr(model, 'backbone', None)):
        return None
    _check_state_dict(checkpoint, source)
    try:
        converted, report = convert(checkpoint, model)
    except UserError as error:
        raise UserError(f'{source}: {error}') from error
    lacking = report.missing + report.misshaped
    if training and report.layout == 'mmqtvit':
        lacking = [key for key in lacking if key.startswith('backbone.')]
    if lacking:
        hint = BACKBONE_HINT.format(source) if training else ''
        raise UserError(f'{source} does not fit the whole model of the config.\n'
                        f'Not in the file, or of another shape: {group(lacking)}\n{hint}'.rstrip())
    return converted, report


def _check_state_dict(checkpoint: dict, source: str) -> None:
    state_dict = checkpoint.get('state_dict', checkpoint)
    if not isinstance(state_dict, dict):
        raise UserError(f'{source} is no checkpoint: its state_dict is a '
                        f'{type(state_dict).__name__}')


def unwrapped(model: nn.Module) -> nn.Module:
    """Take a model out of what distributes it or augments at test time."""
    while is_model_wrapper(model) or isinstance(model, BaseTTAModel):
        model = model.module
    return model


def _some(tensors: dict, count: int = 4) -> str:
    names = [f'{key} {tuple(getattr(value, "shape", ()))}'
             for key, value in list(tensors.items())[:count]]
    return ', '.join(names) + (', …' if len(tensors) > count else '')
