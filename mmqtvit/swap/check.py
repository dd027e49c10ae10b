"""Builds a config's model and runs it: one forward pass and one loss step on noise."""

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import torch
from mmengine import Config
from mmengine.hub import get_config
from mmengine.logging import MessageHub
from mmengine.registry import DefaultScope
from torch import nn

from ..backbones.zoo import is_own_name
from ..cfg.device import replace_sync_bn
from ..cfg.tree import at, type_name
from ..errors import UserError, words_of
from ..terminal import quiet
from ..toolboxes import Toolbox, find_toolbox
from ..weights.read import is_address
from .missing import missing_class
from .probe import build_without_weights
from .refuse import locate_backbone

NUM_PROPOSALS = 50


@dataclass(frozen=True)
class Check:
    """What a check has seen.

    Args:
        size (tuple[int, int]): (height, width) of the images, in pixels.
        parameters (int): Parameters of the whole model.
        loss (float, optional): Of the one loss step; None where it was not asked for.
    """
    size: tuple
    parameters: int
    loss: Optional[float]


class CheckFailed(UserError):
    """A model that cannot be built or run; ``__cause__`` is the error."""


def check_config(cfg: Config, size: Optional[tuple] = None, loss: bool = True,
                 num_images: int = 2, scope: Optional[str] = None) -> Check:
    """Build the model with random weights, predict, and take one loss step with gradients.

    Of a tracker or a semi-supervised model the detector inside is checked. Nothing is downloaded,
    and nothing read but the file of weights of a backbone that is ours.

    Args:
        cfg (Config): Left as it is.
        size (tuple[int, int], optional): (height, width) of the images; with it, RoI heads get
            few proposals. Defaults to None, the config's own and as many as it says.
        loss (bool): Whether to take the loss step. Defaults to True.
        num_images (int): Images in the batch of the loss step. Defaults to 2.
        scope (str, optional): Name of the toolbox. Defaults to None, as the config says.

    Raises:
        CheckFailed: If something goes wrong; the message names the step.
        UserError: If the config's toolbox is not there.
    """
    toolbox, scope = find_toolbox(cfg, scope)
    data = copy.deepcopy(cfg.to_dict())
    part = at(data, locate_backbone(data))
    if not part.get('data_preprocessor'):
        part['data_preprocessor'] = toolbox.inner_preprocessor(
            data['model'].get('data_preprocessor') or data.get('data_preprocessor') or {})
    part, _ = replace_sync_bn(_with_reachable_teacher(part, scope))
    if size:
        _let_batches_have_any_size(part, size)
        _propose_few(part)
    size = tuple(size or toolbox.image_size(cfg))
    with quiet(), DefaultScope.overwrite_default_scope(scope):
        model = _step('building the model', build_without_weights, part, scope)
        if _own_weights(part['backbone']):
            model.backbone.init_cfg = part['backbone']['init_cfg']
        _step('initialising the model', model.init_weights)
        batch = toolbox.make_batch(part, size, 1, data)
        _step('the forward pass', _predict, model, part, toolbox, batch)
        batch = toolbox.make_batch(part, size, num_images, data)
        value = _step('the loss step', _take_loss_step, model, batch) if loss else None
    return Check(size, sum(p.numel() for p in model.parameters()), value)


def check_swap(before: Config, after: Config, scope: Optional[str] = None) -> Check:
    """Check a swapped config, and where it fails find out whether the original does, too.

    Args:
        before (Config): The original.
        after (Config): With the new backbone.
        scope (str, optional): As for :func:`check_config`. Defaults to None.

    Raises:
        CheckFailed: If the swapped one fails.
    """
    try:
        return check_config(after, scope=scope)
    except CheckFailed as error:
        raise CheckFailed(f'{error}; {_before(before, scope, str(error))}') from error


def _before(cfg: Config, scope: Optional[str], failure: str) -> str:
    """Say whether a config fails without the swap; ``failure`` is how it does with it."""
    try:
        check_config(cfg, scope=scope)
    except CheckFailed as error:
        if missing_class(error.__cause__) or isinstance(error.__cause__, ImportError):
            return f'whether it fails before the swap, too, cannot be tried here: {error}'
        reason = '' if str(error) == failure else f': {error}'
        return f'it fails before the swap, too{reason}'
    return 'it runs before the swap'


def _step(what: str, run: Any, *args) -> Any:
    try:
        return run(*args)
    except Exception as error:  # anything can go wrong in a toolbox
        words = words_of(error).strip().splitlines() or ['']
        raise CheckFailed(f'{what} fails: {type(error).__name__}: {words[0][:300]}') from error


def _own_weights(backbone: dict) -> bool:
    """Whether a backbone is ours and names a file of weights."""
    cfg = backbone.get('init_cfg')
    return (is_own_name(type_name(backbone)) and type_name(cfg) == 'Pretrained'
            and not is_address(str(cfg['checkpoint'])))


def _with_reachable_teacher(part: dict, scope: str) -> dict:
    """Distillation names its teacher's config by a path inside the toolbox's checkout."""
    teacher = part.get('teacher_config')
    if isinstance(teacher, str) and teacher.startswith('configs/') and not Path(teacher).is_file():
        part['teacher_config'] = get_config(f'{scope}::{teacher[len("configs/"):]}')
    return part


def _let_batches_have_any_size(part: dict, size: tuple) -> None:
    preprocessor = part.get('data_preprocessor') or {}
    if preprocessor.get('size'):
        preprocessor['size'] = tuple(size)
    augments = [augment for augment in preprocessor.get('batch_augments') or ()
                if type_name(augment) != 'BatchFixedSizePad']
    if preprocessor.get('batch_augments'):
        preprocessor['batch_augments'] = augments or None


def _propose_few(part: dict) -> None:
    for key, stage in (('test_cfg', 'rpn'), ('train_cfg', 'rpn_proposal')):
        proposals = (part.get(key) or {}).get(stage)
        if isinstance(proposals, dict) and 'max_per_img' in proposals:
            proposals['max_per_img'] = NUM_PROPOSALS


def _predict(model: nn.Module, part: dict, toolbox: Toolbox, batch: dict) -> None:
    model.eval()
    with torch.no_grad():
        toolbox.forward(model, part, model.data_preprocessor(batch, False))


def _take_loss_step(model: nn.Module, batch: dict) -> float:
    model.train()
    with _first_iteration():
        data = model.data_preprocessor(batch, True)
        total, _ = model.parse_losses(model(**data, mode='loss'))
    total.backward()
    if not math.isfinite(total.item()):
        raise ValueError(f'the loss is {total.item()}')
    return total.item()


@contextmanager
def _first_iteration() -> Iterator[None]:
    """Some losses and preprocessors ask the runner's message hub how far the training is."""
    hub = MessageHub.get_current_instance()
    before = dict(hub.runtime_info)
    hub.update_info_dict(dict(epoch=0, iter=0, max_epochs=1, max_iters=1))
    try:
        yield
    finally:
        hub.runtime_info.clear()
        hub.runtime_info.update(before)
