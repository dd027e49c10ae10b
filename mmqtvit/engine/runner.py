"""Training and testing through mmengine's runner."""

from pathlib import Path
from typing import Optional

from mmengine import Config
from mmengine.registry import RUNNERS
from mmengine.runner import Runner, find_latest_checkpoint

from .datasets import check_datasets
from .device import adapt_to_device
from .environment import require_mmcv_operators
from .errors import UserError
from .safe_load import allow_openmmlab_checkpoints, require_matching_keys
from .test_options import augment_at_test_time, draw_predictions, keep_predictions


def train(cfg: Config,
          resume: Optional[str] = None,
          amp: bool = False,
          auto_scale_lr: bool = False) -> None:
    """Train the model of a config.

    Args:
        cfg (Config): As from :func:`load_config`; changed in place.
        resume (str, optional): A checkpoint to go on from, or 'auto' for the latest in the work
            dir, if there is one. Defaults to None.
        amp (bool): Whether to train in automatic mixed precision. Defaults to False.
        auto_scale_lr (bool): Whether to scale the learning rate with the batch size. Defaults to
            False.

    Raises:
        UserError: If the data set, a checkpoint or mmcv's operators are missing, or the config
            does not build.
    """
    require_mmcv_operators()
    check_datasets(cfg, ('train', 'val'))
    if amp:
        cfg.optim_wrapper.update(type='AmpOptimWrapper', loss_scale='dynamic')
    if auto_scale_lr:
        if 'base_batch_size' not in cfg.get('auto_scale_lr', {}):
            raise UserError('--auto-scale-lr needs auto_scale_lr.base_batch_size in the config')
        cfg.auto_scale_lr.enable = True
    adapt_to_device(cfg)
    if resume is not None:
        cfg.resume = True
        cfg.load_from = _latest(cfg.work_dir) if resume == 'auto' else resume
    with allow_openmmlab_checkpoints():
        runner = _build(cfg)
        _check_checkpoint(runner, cfg.get('load_from'))
        runner.train()


def test(cfg: Config,
         checkpoint: str,
         out: Optional[str] = None,
         show_dir: Optional[str] = None,
         show: bool = False,
         wait_time: float = 2.,
         tta: bool = False) -> dict:
    """Evaluate a checkpoint.

    Args:
        cfg (Config): As from :func:`load_config`; changed in place.
        checkpoint (str): File, or anything that mmengine's loader takes.
        out (str, optional): Where to keep the predictions, see :func:`keep_predictions`. Defaults
            to None.
        show_dir (str, optional): Where to write pictures. Defaults to None.
        show (bool): Whether to show pictures in a window. Defaults to False.
        wait_time (float): Seconds per picture in the window. Defaults to 2.
        tta (bool): Whether to augment at test time. Defaults to False.

    Returns:
        dict: The metrics.

    Raises:
        UserError: As in :func:`train`.
    """
    require_mmcv_operators()
    check_datasets(cfg, ('test', ))
    adapt_to_device(cfg)
    if show or show_dir:
        draw_predictions(cfg, show_dir, show, wait_time)
    if tta:
        augment_at_test_time(cfg)
    if out:
        keep_predictions(cfg, out)
    cfg.load_from = checkpoint
    with allow_openmmlab_checkpoints():
        runner = _build(cfg)
        _check_checkpoint(runner, checkpoint)
        return runner.test()


def _latest(work_dir: str) -> Optional[str]:
    return find_latest_checkpoint(work_dir) if Path(work_dir).is_dir() else None


def _build(cfg: Config) -> Runner:
    if cfg.get('default_scope') == 'mmpretrain':
        # Its data preprocessors take batches that are collated already.
        for split in ('train', 'val', 'test'):
            if dataloader := cfg.get(f'{split}_dataloader'):
                dataloader.setdefault('collate_fn', dict(type='default_collate'))
    try:
        return RUNNERS.build(cfg) if 'runner_type' in cfg else Runner.from_cfg(cfg)
    except (KeyError, TypeError, ValueError) as error:
        message = error.args[0] if error.args else error
        raise UserError(f'cannot build the config: {message}') from error


def _check_checkpoint(runner: Runner, path: Optional[str]) -> None:
    if path is not None and '://' not in path:
        require_matching_keys(runner.model, path)
