"""Training and testing through mmengine's runner."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from typing import Optional

from mmengine import Config
from mmengine.registry import MODELS, RUNNERS
from mmengine.runner import Runner
from torch import nn

from ..cfg.build import explained
from ..cfg.datasets import check_datasets
from ..cfg.device import adapt_to_device, join_processes
from ..cfg.read import enable_amp, enable_auto_scale_lr
from ..engine.check_loaders import CheckLoaders
from ..engine.deployed import DeployModel, drop_averaging
from ..engine.drawing import PrepareDrawing, ShowFirstView
from ..engine.resume import ChooseSchedule, check_resumable, check_same_model
from ..errors import Interrupted, UserError
from ..terminal import quiet_toolbox
from ..toolboxes import get_toolbox, require_toolbox
from ..weights.read import already_read, read_checkpoint
from ..weights.safe_load import CAN_RESTRICT, allow_openmmlab_checkpoints
from .check_dataset.loaders import refuse_loader
from .checkpoint import check_match, latest_checkpoint, translate, unwrapped
from .distinct_names import distinct_names
from .test_options import augment_at_test_time, draw_predictions
from .unlabelled import check_labels, leave_out_evaluation


def train(cfg: Config,
          resume: Optional[str] = None,
          amp: bool = False,
          auto_scale_lr: bool = False,
          new_schedule: bool = False) -> None:
    """Train the model of a config.

    Args:
        cfg (Config): As from :func:`load_config`; changed in place.
        resume (str, optional): A checkpoint to go on from, or 'auto' for the latest in the work
            dir, if there is one. Defaults to None.
        amp (bool): Whether to train in automatic mixed precision. Defaults to False.
        auto_scale_lr (bool): Whether to scale the learning rate with the number of images a step.
            Defaults to False.
        new_schedule (bool): Whether a resumed training takes learning rates, schedules and other
            settings of the optimiser from the config, at the place that it has reached, in place
            of the checkpoint's. Defaults to False.

    Raises:
        UserError: If the data set, a checkpoint, the toolbox or mmcv's operators are missing or
            unfit, or the config does not build.
        Interrupted: On Ctrl-C; the message says how to go on.
    """
    require_toolbox(cfg)
    check_datasets(cfg, ('train', 'val'))
    check_labels(cfg)
    if amp:
        enable_amp(cfg)
    if auto_scale_lr:
        enable_auto_scale_lr(cfg)
    notes = adapt_to_device(cfg)
    if new_schedule and not (resume or cfg.get('resume')):
        raise UserError('--new-schedule says how a resumed training goes on: give --resume, too')
    notes += _choose_start(cfg, resume)
    runner = None
    try:
        with _prepared(cfg, notes, training=True) as runner:
            if cfg.resume:
                runner.register_hook(ChooseSchedule(cfg.load_from, new_schedule))
            runner.train()
    except KeyboardInterrupt:
        raise Interrupted(_how_to_go_on(cfg, runner)) from None


def test(cfg: Config,
         checkpoint: str,
         out: Optional[str] = None,
         show_dir: Optional[str] = None,
         show: bool = False,
         wait_time: float = 2.,
         tta: bool = False,
         plain: bool = False) -> dict:
    """Evaluate a checkpoint.

    Args:
        cfg (Config): As from :func:`load_config`; changed in place.
        checkpoint (str): File, or anything that mmengine's loader takes.
        out (str, optional): Where to keep the predictions, a folder of label maps for a
            segmentor, else a pickle file. Defaults to None.
        show_dir (str, optional): Where to write pictures. Defaults to None.
        show (bool): Whether to show pictures in a window. Defaults to False.
        wait_time (float): Seconds per picture in the window. Defaults to 2.
        tta (bool): Whether to augment at test time. Defaults to False.
        plain (bool): Whether to run the model as it was trained, and not in its deploy form, see
            :func:`mmqtvit.deploy`. Defaults to False.

    Returns:
        dict: The metrics.

    Raises:
        UserError: As in :func:`train`.
    """
    toolbox = require_toolbox(cfg)
    check_datasets(cfg, ('test', ))
    notes = adapt_to_device(cfg, training=False)
    if show or show_dir:
        draw_predictions(cfg, show_dir, show, wait_time)
    if out:
        toolbox.keep_predictions(cfg, out)
    notes += leave_out_evaluation(cfg)
    if tta:
        augment_at_test_time(cfg)
    plain = plain or bool(cfg.get('compile'))  # which does the like by itself
    if not plain:
        drop_averaging(cfg)
    cfg.load_from, cfg.resume = checkpoint, False
    with _prepared(cfg, notes, training=False) as runner:
        if not plain:
            runner.register_hook(DeployModel())
        if tta:
            runner.register_hook(ShowFirstView())
        with distinct_names(runner):
            return runner.test()


def _choose_start(cfg: Config, resume: Optional[str]) -> list:
    """Set ``load_from`` and ``resume``; 'auto' without a checkpoint starts as the config says."""
    if resume is None and cfg.get('resume'):
        resume = cfg.get('load_from') or 'auto'
    cfg.resume = False
    if resume == 'auto':
        resume = latest_checkpoint(cfg.work_dir)
        if resume is None:
            return [f'Nothing to resume in {cfg.work_dir}, training starts from the beginning']
    if resume is not None:
        cfg.load_from, cfg.resume = resume, True
    return []


@contextmanager
def _prepared(cfg: Config, notes: list, training: bool) -> Iterator[Runner]:
    """The runner, with its checkpoint looked through; what users get wrong becomes UserError."""
    toolbox = get_toolbox(cfg.default_scope)
    for split in ('train', 'val', 'test'):
        if cfg.get(f'{split}_dataloader'):
            toolbox.complete_loader(cfg, split)
    source = cfg.get('load_from')
    checkpoint = read_checkpoint(source) if source else None
    if checkpoint and cfg.resume:
        check_resumable(checkpoint, source)
    join_processes(cfg)
    with allow_openmmlab_checkpoints(), quiet_toolbox(toolbox.coco_package), explained(cfg):
        if 'runner_type' in cfg and cfg.get('env_cfg') is None:
            cfg.env_cfg = {}  # FlexibleRunner's own default does not come through its from_cfg
        with explained(cfg, whole=True):
            runner = RUNNERS.build(cfg) if 'runner_type' in cfg else Runner.from_cfg(cfg)
        evaluators = {split: cfg.get(f'{split}_evaluator') for split in ('val', 'test')}
        runner.register_hook(CheckLoaders(partial(refuse_loader, evaluators=evaluators)))
        hook = (cfg.get('default_hooks') or {}).get('visualization') or {}
        if hook.get('draw') or hook.get('enable'):
            runner.register_hook(PrepareDrawing(toolbox))
        for note in notes:
            runner.logger.info(note)
        if checkpoint:
            checkpoint = _fitted(checkpoint, runner, cfg, training)
        with already_read(source, checkpoint):
            del checkpoint
            yield runner


def _fitted(checkpoint: dict, runner: Runner, cfg: Config, training: bool) -> dict:
    """What mmengine is to load of a checkpoint; raise UserError if it does not fit the model."""
    model, source = unwrapped(_model_of(runner, cfg)), cfg.load_from
    if not CAN_RESTRICT:
        runner.logger.warning('Before torch 2.6 a checkpoint can run code when it is loaded: '
                              f'{source} should be from a source you trust')
    # A resumed run takes all of its own file, optimiser and averages included.
    translated = None if cfg.resume else translate(model, checkpoint, source, training)
    if translated is not None:
        state_dict, report = translated
        level = logging.WARNING if report.incomplete else logging.INFO
        runner.logger.log(level, f'{source}: {report}')
        return {'state_dict': state_dict}  # without averages: of the same file
    found = check_match(model, checkpoint, source, training)
    if cfg.resume:
        check_same_model(model, found, source)
    own = checkpoint.get('state_dict', {})
    if found.keys() == own.keys() and all(found[key] is own[key] for key in own):
        return checkpoint  # whose state dict also has the versions of the modules
    return {**checkpoint, 'state_dict': found}


def _model_of(runner: Runner, cfg: Config) -> nn.Module:
    """The model that will be loaded; FlexibleRunner builds it later, so here one like it."""
    if isinstance(runner.model, nn.Module):
        return runner.model
    part = deepcopy(cfg.model)
    if cfg.get('data_preprocessor'):
        part.setdefault('data_preprocessor', cfg.data_preprocessor)
    return MODELS.build(part)


def _how_to_go_on(cfg: Config, runner: Optional[Runner]) -> str:
    at = f' at iteration {runner.iter}' if runner is not None else ''
    last = latest_checkpoint(cfg.work_dir)
    if last is None:
        return f'interrupted{at}; no checkpoint was written yet'
    return (f'interrupted{at}; the last checkpoint is {last}\n'
            'To go on: the same command with --resume')
