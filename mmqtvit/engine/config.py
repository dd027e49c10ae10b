"""Reads a config the way the command lines of OpenMMLab do."""

from pathlib import Path
from typing import Optional

from mmengine import Config
from mmengine.config.utils import ConfigParsingError
from mmengine.hub import get_config

from .errors import UserError


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
    cfg = _read(path)
    for key, value in (cfg_options or {}).items():
        try:
            cfg.merge_from_dict({key: value})
        except (AssertionError, AttributeError, IndexError, KeyError, TypeError,
                ValueError) as error:
            raise UserError(f'--cfg-options {key}={value} does not fit {path}: {error}') from error
    if work_dir is not None or cfg.get('work_dir') is None:
        cfg.work_dir = work_dir or str(Path('work_dirs', Path(path).stem))
    cfg.launcher = launcher
    return cfg


def _read(path: str) -> Config:
    packaged = '::' in path
    if not packaged and not Path(path).is_file():
        siblings = sorted(sibling.name for sibling in Path(path).parent.glob('*.py'))
        beside = f'. In that folder there are: {", ".join(siblings[:40])}' if siblings else ''
        raise UserError(f'config {path} not found{beside}')
    try:
        return get_config(path) if packaged else Config.fromfile(path)
    except (ConfigParsingError, ImportError, KeyError, NameError, OSError, SyntaxError, TypeError,
            ValueError) as error:
        raise UserError(f'cannot read config {path}: {type(error).__name__}: {error}') from error
