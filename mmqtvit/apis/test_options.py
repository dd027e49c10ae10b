"""Options of testing that each toolbox spells in its own way."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from mmengine import Config
from mmengine.config import ConfigDict

from ..cfg.datasets import dataset_leaves
from ..cfg.tree import type_name
from ..errors import UserError
from ..toolboxes import get_toolbox


def draw_predictions(cfg: Config, show_dir: Optional[str], show: bool, wait_time: float) -> None:
    """Have the toolbox's visualisation hook draw the prediction of every image.

    Args:
        cfg (Config): Changed in place.
        show_dir (str, optional): Where to write the pictures, seen from the current folder.
        show (bool): Whether to show them in a window.
        wait_time (float): Seconds per picture in the window.

    Raises:
        UserError: If the config has no such hook.
    """
    hook = cfg.get('default_hooks', {}).get('visualization')
    if not hook:
        raise UserError('--show and --show-dir need default_hooks.visualization in the config')
    use_visualizer(cfg)
    hook.update(show=show, wait_time=wait_time)
    # Absolute, since some hooks put a relative one below the work dir.
    folder = str(Path(show_dir).absolute()) if show_dir else None
    get_toolbox(cfg.default_scope).draw_predictions(cfg, hook, folder)


def use_visualizer(cfg: Config) -> None:
    """Draw by the toolbox's own visualiser where the config has none.

    Or where it has mmengine's, which it gets without one, and which draws no predictions.

    Args:
        cfg (Config): Changed in place.
    """
    if type_name(cfg.get('visualizer')) in ('', 'Visualizer'):
        cfg.visualizer = dict(type=get_toolbox(cfg.default_scope).visualizer, name='visualizer')


def augment_at_test_time(cfg: Config) -> None:
    """Average predictions over augmented copies: the config's own TTA, else a horizontal flip.

    Raises:
        UserError: If the toolbox cannot average what the model predicts, or has no default TTA.
    """
    toolbox = get_toolbox(cfg.default_scope)
    toolbox.check_tta(cfg)
    model = cfg.get('tta_model')
    for _, dataset in dataset_leaves(cfg.test_dataloader.dataset, 'test_dataloader.dataset'):
        pipeline = cfg.get('tta_pipeline')
        if not (model and pipeline):
            default = toolbox.augment_at_test_time(cfg, dataset.pipeline)
            model, pipeline = model or default[0], pipeline or default[1]
        dataset.pipeline = (pipeline if toolbox.has_labels(dataset) else
                            without_loading_labels(pipeline))
    cfg.model = ConfigDict(**model, module=cfg.model)


def without_loading_labels(steps: Sequence) -> list:
    """A pipeline, or the transforms of a step, without the steps that load labels."""
    kept = []
    for step in steps:
        if isinstance(step, (list, tuple)):
            step = without_loading_labels(step)
            if not step:  # of nothing there are no combinations with the other steps
                continue
        elif isinstance(step, dict) and 'transforms' in step:
            step = ConfigDict(step, transforms=without_loading_labels(step['transforms']))
        elif re.match('Load.*Annotation', type_name(step)):
            continue
        kept.append(step)
    return kept
