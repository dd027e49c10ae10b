"""Swaps the backbone of the configs that the installed toolboxes carry, and runs the results."""

import csv
import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Optional

import torch
import yaml
from mmengine import Config
from mmengine.utils import get_installed_path
from tqdm import tqdm

from ..cfg.tree import type_name
from ..errors import UserError
from ..toolboxes import find_toolbox
from .check import CheckFailed, check_config
from .leaf import leaf_text
from .plan import plan_swap, swap_backbone
from .recipe import NOT_FROZEN
from .refuse import WRAPPERS

RUNS, REFUSED, BROKEN, FAILED = 'runs', 'refused', 'broken before', 'failed'
LONG_SIDE = 320  # pixels, to which images are scaled down


@dataclass(frozen=True)
class Result:
    """What became of one config.

    Args:
        config (str): As ``mmdet::…``.
        family (str): The folder.
        outcome (str): 'runs', 'refused', 'broken before' (the original fails as well) or 'failed'.
        arch (str): The new backbone's.
        backbone (str): The old one's class; '' where the model has none. Defaults to ''.
        reason (str): Why it does not run. Defaults to ''.
        warnings (str): What the swap warns of. Defaults to ''.
        seconds (float): Defaults to 0.
    """
    config: str
    family: str
    outcome: str
    arch: str
    backbone: str = ''
    reason: str = ''
    warnings: str = ''
    seconds: float = 0.


def list_configs(toolbox: str, every: bool = False) -> dict:
    """The configs that a toolbox's wheel carries.

    Args:
        toolbox (str): Its name, such as mmdet.
        every (bool): Whether to list all, instead of the first of each metafile (of each folder
            the first by name where there is no metafile). Defaults to False.

    Returns:
        dict[str, list[str]]: Configs as ``mmdet::…`` by family.
    """
    root = Path(get_installed_path(toolbox)) / '.mim' / 'configs'
    families = {}
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        if folder.name == '_base_':
            continue
        files = sorted(folder.rglob('*.py'))
        if not every:
            chosen = [_first_of(metafile, root) for metafile in sorted(folder.rglob('*.yml'))]
            with_model = [path for path in files if 'model' in path.read_text(encoding='utf-8')]
            files = list(filter(None, chosen)) or with_model[:1] or files[:1]
        families[folder.name] = [
            f'{toolbox}::{path.relative_to(root).as_posix()}' for path in files]
    return families


def _first_of(metafile: Path, root: Path) -> Optional[Path]:
    content = yaml.safe_load(metafile.read_text(encoding='utf-8'))
    for model in content.get('Models') or () if isinstance(content, dict) else ():
        path = root.parent / str(model.get('Config', ''))
        if path.is_file():
            return path
    return None


def try_config(config: str, family: str, arch: str = 'qtvit1') -> Result:
    """Swap one config, reload and swap what would be written, and run it on small noise."""
    start = time.perf_counter()
    torch.set_num_threads(1)
    plan = None
    try:
        cfg = read(config)
    except UserError as error:
        return Result(config, family, BROKEN, arch, reason=_one_line(error))
    try:
        before = cfg.to_dict()
        plan = plan_swap(cfg, arch)
        swapped = plan.apply(cfg)
        if cfg.to_dict() != before:
            raise ValueError('the original config was changed')
        _check_leaf(config, cfg, swapped, arch)
        run_once(swapped)
        outcome, reason = RUNS, ''
    except CheckFailed as error:
        outcome, reason = FAILED, str(error)
        if _fails(cfg):
            outcome, reason = BROKEN, f'so does the original: {error}'
    except UserError as error:
        outcome, reason = REFUSED, getattr(error, 'reason', error)
    except Exception as error:  # a bug: reported, and the sweep goes on
        outcome, reason = FAILED, f'{type(error).__name__}: {error}'
    warnings = plan.changes.warnings if plan else ()
    return Result(config, family, outcome, arch, backbone_type(cfg.get('model')), _one_line(reason),
                  '; '.join(warning for warning in warnings if warning != NOT_FROZEN),
                  round(time.perf_counter() - start, 1))


def _one_line(reason: Any) -> str:
    return ' '.join(str(reason).split())


def backbone_type(model: Any) -> str:
    """Class of the backbone of a model or of the detector in it; '' where there is none."""
    if not isinstance(model, dict):
        return ''
    return type_name(model.get('backbone')) or next(
        filter(None, (backbone_type(model.get(key)) for key in WRAPPERS)), '')


def run_once(cfg: Config) -> None:
    """Predict and take a loss step on small images, or on the config's own size if these fail.

    Raises:
        CheckFailed: If it runs on neither.
    """
    size = find_toolbox(cfg)[0].image_size(cfg)
    try:
        check_config(cfg, reduced(size))
    except CheckFailed:  # poolings of a fixed size
        if reduced(size) == tuple(size):
            raise
        check_config(cfg, size)


def reduced(size: Sequence) -> tuple:
    """A size with the long side at most 320 pixels, both sides multiples of 32 if scaled."""
    scale = LONG_SIDE / max(size)
    if scale >= 1:
        return tuple(size)
    return tuple(max(32, round(side * scale / 32) * 32) for side in size)


def read(config: str) -> Config:
    """Read a toolbox's own config.

    Raises:
        UserError: If it cannot be read, such as for a parent that the wheel lacks.
    """
    toolbox, _, name = config.partition('::')
    path = Path(get_installed_path(toolbox)) / '.mim' / 'configs' / name
    try:
        return Config.fromfile(path)
    except Exception as error:
        installed = Path(get_installed_path(toolbox))
        words = str(error).replace(f'{installed}/.mim/', '').replace(f'{installed.parent}/', '')
        raise UserError(f'cannot be read: {type(error).__name__}: {words}') from error


def _check_leaf(config: str, cfg: Config, swapped: Config, arch: str) -> None:
    """Make sure that the text that is written gives the swapped config, swapped once more too.

    Raises:
        ValueError: If it does not.
    """
    toolbox, _, name = config.partition('::')
    base = str(Path(get_installed_path(toolbox)) / '.mim' / 'configs' / name)
    reloaded = Config.fromstring(leaf_text(base, cfg, swapped), '.py')
    if reloaded.to_dict() != swapped.to_dict():
        raise ValueError('the written config is not the swapped one')
    if swap_backbone(reloaded, arch).to_dict() != swapped.to_dict():
        raise ValueError('swapping twice gives another config than swapping once')


def _fails(cfg: Config) -> bool:
    try:
        run_once(cfg)
    except UserError:
        return True
    return False


def run_sweep(toolboxes: Sequence, folder: str, every: bool = False, workers: int = 1,
              arch: str = 'qtvit1', retry: bool = False) -> list:
    """Try configs in processes of their own, going on where an earlier call stopped.

    Args:
        toolboxes (Sequence[str]): Names.
        folder (str): Where ``results.jsonl`` grows and ``results.csv`` is written at the end.
        every (bool): As for :func:`list_configs`. Defaults to False.
        workers (int): Processes at a time. Defaults to 1.
        arch (str): Defaults to 'qtvit1'.
        retry (bool): Whether to try again what an earlier call did not see running. Defaults to
            False.

    Returns:
        list[Result]: In the order of the configs.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    record = Path(folder, 'results.jsonl')
    done = {result.config: result for result in _recorded(record)
            if result.arch == arch and (result.outcome == RUNS or not retry)}
    jobs = {config: family for toolbox in toolboxes
            for family, configs in list_configs(toolbox, every).items() for config in configs}
    waiting = {config: family for config, family in jobs.items() if config not in done}
    with ProcessPoolExecutor(workers, get_context('spawn')) as pool, \
            record.open('a', encoding='utf-8') as log:
        futures = [pool.submit(try_config, config, family, arch)
                   for config, family in waiting.items()]
        for future in tqdm(as_completed(futures), total=len(futures), unit='config'):
            result = future.result()
            done[result.config] = result
            print(json.dumps(asdict(result)), file=log, flush=True)
    results = [done[config] for config in jobs]
    with Path(folder, 'results.csv').open('w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, list(Result.__dataclass_fields__))
        writer.writeheader()
        writer.writerows(asdict(result) for result in results)
    return results


def _recorded(path: Path) -> Iterator:
    if path.is_file():
        for line in path.read_text(encoding='utf-8').splitlines():
            yield Result(**json.loads(line))
