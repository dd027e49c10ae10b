"""Options of testing that each toolbox spells in its own way."""

from copy import deepcopy
from pathlib import Path
from typing import Optional

from mmengine import Config
from mmengine.config import ConfigDict
from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.runner import Runner
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from ..errors import UserError

DEFAULT_TTA = {
    'mmdet': dict(
        type='DetTTAModel',
        tta_cfg=dict(nms=dict(type='nms', iou_threshold=0.5), max_per_img=100)),
    'mmpretrain': dict(type='AverageClsScoreTTA'),
}


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
    hook.update(show=show, wait_time=wait_time)
    # Absolute, since some hooks put a relative one below the work dir.
    folder = str(Path(show_dir).absolute()) if show_dir else None
    if cfg.default_scope == 'mmpretrain':
        hook.update(enable=True, out_dir=folder)
        hook.setdefault('interval', 1)
        return
    hook.update(draw=True)
    if cfg.default_scope == 'mmseg':
        hook.setdefault('interval', 1)  # its own default draws one image in 50
        # It asks for the iteration of training, and mmengine would build the training data to
        # answer.
        for key in ('train_dataloader', 'train_cfg', 'optim_wrapper', 'param_scheduler'):
            cfg[key] = None
        if folder:
            cfg.visualizer.save_dir = folder
    elif folder:
        hook.update(test_out_dir=folder)


def augment_at_test_time(cfg: Config) -> None:
    """Average predictions over augmented copies: the config's own TTA, else a horizontal flip.

    Raises:
        UserError: If a segmentation config has no TTA of its own, or if the model predicts masks
            of instances, which mmdet cannot merge.
    """
    if cfg.default_scope == 'mmseg' and not ('tta_model' in cfg and 'tta_pipeline' in cfg):
        raise UserError('--tta needs tta_model and tta_pipeline in a segmentation config')
    if cfg.default_scope == 'mmdet' and _predicts_masks(cfg.model):
        raise UserError('--tta: mmdet merges boxes only, and this model predicts masks too')
    dataset = cfg.test_dataloader.dataset
    while 'dataset' in dataset:
        dataset = dataset.dataset
    model = cfg.get('tta_model') or DEFAULT_TTA[cfg.default_scope]
    cfg.model = ConfigDict(**model, module=cfg.model)
    dataset.pipeline = cfg.get('tta_pipeline') or _flip_pipeline(cfg, dataset.pipeline)


def drop_averaging(cfg: Config) -> None:
    """Take out the hooks that average weights.

    In a test they exchange the model's weights with a copy's, which must have the same ones; a
    checkpoint has the averages in the model's place already.
    """
    cfg.custom_hooks = [hook for hook in cfg.get('custom_hooks') or []
                        if not str(hook.get('type')).endswith('EMAHook')]


class FuseConvBN(Hook):
    """Folds every convolution–batch norm pair of the model that is tested, with mmcv's function."""

    def before_test(self, runner: Runner) -> None:
        """Fold, and log how many norms are gone."""
        from mmcv.cnn import fuse_conv_bn
        model = runner.model.module if is_model_wrapper(runner.model) else runner.model
        before = _count_batch_norms(model)
        fuse_conv_bn(model)
        runner.logger.info(f'{before - _count_batch_norms(model)} of {before} batch norms folded '
                           'into convolutions')


def _count_batch_norms(model: nn.Module) -> int:
    return sum(isinstance(module, _BatchNorm) for module in model.modules())


def keep_predictions(cfg: Config, out: str) -> None:
    """Write the predictions: label maps into a folder (mmseg), or a pickle file (others).

    Raises:
        UserError: If ``out`` does not end as the toolbox expects.
    """
    metrics = cfg.test_evaluator
    metrics = list(metrics) if isinstance(metrics, (list, tuple)) else [metrics]
    if cfg.default_scope == 'mmseg':
        for metric in metrics:
            metric.update(output_dir=out, keep_results=True)
        return
    if not out.endswith(('.pkl', '.pickle')):
        raise UserError(f'--out must end in .pkl or .pickle for this config, got {out}')
    dump = 'DumpDetResults' if cfg.default_scope == 'mmdet' else 'DumpResults'
    cfg.test_evaluator = [*metrics, dict(type=dump, out_file_path=out)]


def _predicts_masks(model: dict) -> bool:
    return 'mask_head' in model or 'mask_head' in (model.get('roi_head') or {})


def _flip_pipeline(cfg: Config, pipeline: list) -> list:
    pack = deepcopy(pipeline[-1])
    if cfg.default_scope == 'mmdet':  # it needs to know whether a box must be flipped back
        pack.meta_keys = ('img_id', 'img_path', 'ori_shape', 'img_shape', 'scale_factor', 'flip',
                          'flip_direction')
    flips = [dict(type='RandomFlip', prob=1.), dict(type='RandomFlip', prob=0.)]
    return [*deepcopy(pipeline[:-1]), dict(type='TestTimeAug', transforms=[flips, [pack]])]
