"""Options of testing that each toolbox spells in its own way."""

from copy import deepcopy
from pathlib import Path
from typing import Optional

from mmengine import Config
from mmengine.config import ConfigDict

from .errors import UserError


def draw_predictions(cfg: Config, show_dir: Optional[str], show: bool, wait_time: float) -> None:
    """Have the toolbox's visualisation hook draw the predictions.

    Args:
        cfg (Config): Changed in place.
        show_dir (str, optional): Where to write the pictures.
        show (bool): Whether to show them in a window.
        wait_time (float): Seconds per picture in the window.
    """
    hook = cfg.get('default_hooks', {}).get('visualization')
    if hook is None:
        raise UserError("--show and --show-dir need default_hooks.visualization in the config")
    hook.update(show=show, wait_time=wait_time)
    # Absolute, since some hooks put a relative one below the work dir.
    folder = str(Path(show_dir).absolute()) if show_dir else None
    if cfg.get('default_scope') == 'mmpretrain':
        hook.update(enable=True, out_dir=folder)
    elif cfg.get('default_scope') == 'mmseg':
        hook.update(draw=True)
        if folder:
            cfg.visualizer.save_dir = folder
    else:
        hook.update(draw=True)
        if folder:
            hook.update(test_out_dir=folder)


def augment_at_test_time(cfg: Config) -> None:
    """Average predictions over augmented copies: the config's own TTA, else a horizontal flip."""
    defaults = {
        'mmdet': (dict(type='DetTTAModel',
                       tta_cfg=dict(nms=dict(type='nms', iou_threshold=0.5), max_per_img=100)),
                  dict(type='PackDetInputs',
                       meta_keys=('img_id', 'img_path', 'ori_shape', 'img_shape', 'scale_factor',
                                  'flip', 'flip_direction'))),
        'mmseg': (dict(type='SegTTAModel'), dict(type='PackSegInputs')),
        'mmpretrain': (dict(type='AverageClsScoreTTA'), dict(type='PackInputs')),
    }
    scope = cfg.get('default_scope')
    if scope not in defaults:
        raise UserError(f'--tta knows the scopes {sorted(defaults)}, got {scope!r}')
    tta_model, packing = defaults[scope]
    dataset = cfg.test_dataloader.dataset
    while 'dataset' in dataset:
        dataset = dataset.dataset
    if 'tta_pipeline' not in cfg:
        flips = [dict(type='RandomFlip', prob=1.), dict(type='RandomFlip', prob=0.)]
        steps = [flips, [packing]]
        pipeline = deepcopy(dataset.pipeline[:-1])
        if scope == 'mmseg':  # labels are not augmented
            pipeline = [step for step in pipeline if step['type'] != 'LoadAnnotations']
            steps.insert(1, [dict(type='LoadAnnotations')])
        cfg.tta_pipeline = [*pipeline, dict(type='TestTimeAug', transforms=steps)]
    cfg.model = ConfigDict(**cfg.get('tta_model', tta_model), module=cfg.model)
    dataset.pipeline = cfg.tta_pipeline


def keep_predictions(cfg: Config, out: str) -> None:
    """Write the predictions: label maps into a folder (mmseg), or a pickle file (others)."""
    metrics = cfg.test_evaluator
    metrics = list(metrics) if isinstance(metrics, (list, tuple)) else [metrics]
    if cfg.get('default_scope') == 'mmseg':
        for metric in metrics:
            metric.update(output_dir=out, keep_results=True)
    else:
        if not out.endswith(('.pkl', '.pickle')):
            raise UserError(f'--out must end in .pkl or .pickle for this config, got {out}')
        dump = 'DumpDetResults' if cfg.get('default_scope') == 'mmdet' else 'DumpResults'
        metrics.append(dict(type=dump, out_file_path=out))
    cfg.test_evaluator = metrics
