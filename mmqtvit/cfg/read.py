"""Reads a config the way the command lines of OpenMMLab do."""

import difflib
import os
import traceback
from copy import deepcopy
from pathlib import Path
from typing import Any, Optional

from mmengine import Config
from mmengine.config.lazy import LazyAttr, LazyObject
from mmengine.hub import get_config

from ..errors import UserError, say, words_of
from .options import check_option, variables_without_effect
from .tree import type_name


def load_config(path: str,
                cfg_options: Optional[dict] = None,
                work_dir: Optional[str] = None,
                launcher: str = 'none') -> Config:
    """Read a config and apply the options that training and testing share.

    Args:
        path (str): A config file, or a toolbox's own as ``mmdet::…``, ``mmseg::…``.
        cfg_options (dict, optional): Values by dotted key. Defaults to None.
        work_dir (str, optional): Defaults to None: the config's own, else
            ``work_dirs/<name of the config>``.
        launcher (str): 'none', 'pytorch', 'slurm' or 'mpi'. Defaults to 'none'.

    Raises:
        UserError: If the file is missing or no config, or an option does not fit.
    """
    cfg = read_config(path)
    for line in variables_without_effect(cfg):
        say(f'warning: {path} {line}')
    for key, value in (cfg_options or {}).items():
        check_option(cfg, key, value)
        try:
            cfg.merge_from_dict({key: deepcopy(value)})  # which takes _delete_ out of it
        except (AssertionError, AttributeError, IndexError, KeyError, TypeError,
                ValueError) as error:
            raise UserError(
                f'--cfg-options {key}={value} does not fit {path}: {words_of(error)}') from error
    if work_dir is not None or cfg.get('work_dir') is None:
        cfg.work_dir = work_dir or str(Path('work_dirs', Path(path.split('::')[-1]).stem))
    cfg.launcher = launcher
    return cfg


def enable_amp(cfg: Config) -> None:
    """Train in automatic mixed precision.

    Raises:
        UserError: If the config's optimizer wrapper has no such form.
    """
    kind = type_name(cfg.optim_wrapper) or 'OptimWrapper'
    if kind not in ('OptimWrapper', 'AmpOptimWrapper'):
        raise UserError(
            f'--amp replaces OptimWrapper, but the config has optim_wrapper.type={kind}')
    cfg.optim_wrapper.type = 'AmpOptimWrapper'
    cfg.optim_wrapper.setdefault('loss_scale', 'dynamic')


def enable_auto_scale_lr(cfg: Config) -> None:
    """Scale the learning rate with the number of images a step.

    Raises:
        UserError: If the config does not say for how many its learning rate is meant.
    """
    if not (cfg.get('auto_scale_lr') or {}).get('base_batch_size'):
        raise UserError(
            '--auto-scale-lr needs to know for how many images a step the learning rate is meant, '
            'and the config does not say; if for 16, add '
            '--cfg-options auto_scale_lr.base_batch_size=16')
    cfg.auto_scale_lr.enable = True


def read_config(path: str, custom_imports: bool = True) -> Config:
    """Read a config file, or a toolbox's own as ``mmdet::…``.

    Args:
        path (str): As above.
        custom_imports (bool): Whether to import what a file of one's own names in
            ``custom_imports``. Defaults to True.

    Raises:
        UserError: If it is missing or no config; the message names its neighbours.
    """
    packaged = '::' in path
    if not packaged and not Path(path).is_file():
        siblings = sorted(sibling.name for sibling in Path(path).parent.glob('*.py'))
        names = difflib.get_close_matches(Path(path).name, siblings) or siblings[:40]
        beside = f'. In that folder there are: {", ".join(names)}' if names else ''
        raise UserError(f'config {path} not found{beside}')
    try:
        return with_names(get_config(path) if packaged else Config.fromfile(
            path, import_custom_modules=custom_imports))
    except Exception as error:  # a config is a program: anything can go wrong in it
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
                 if os.path.basename(frame.filename) == os.path.basename(path)]
        where = f', line {lines[-1]}' if lines else ''
        raise UserError(f'cannot read config {path}{where}: '
                        f'{type(error).__name__}: {words_of(error)}') from error


def with_names(cfg: Config) -> Config:
    """A config whose types are names, as mmengine writes those of new-style configs into its logs.

    A new-style config holds the classes themselves, which nothing that compares names knows.
    """
    return Config(_with_names(cfg._to_lazy_dict()), cfg_text=cfg.text, filename=cfg.filename)


def _with_names(node: Any, key: Any = None) -> Any:
    if isinstance(node, (LazyAttr, LazyObject)) and str(key).endswith('type'):
        return f'{node.module}.{node}'
    if isinstance(node, dict):
        return {name: _with_names(child, name) for name, child in node.items()}
    if isinstance(node, (list, tuple)):
        return type(node)(_with_names(child) for child in node)
    return node
