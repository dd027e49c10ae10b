"""Configs of well-known methods, and how to train them for a moment on the demo's scenes."""

from pathlib import Path
from typing import Any

from mmengine import Config

from mmqtvit.cfg.device import replace_sync_bn

DETECTORS = {
    'retinanet': 'retinanet/retinanet_r50_fpn_1x_coco.py',
    'faster_rcnn': 'faster_rcnn/faster-rcnn_r50_fpn_1x_coco.py',
    'mask_rcnn': 'mask_rcnn/mask-rcnn_r50_fpn_1x_coco.py',
    'atss': 'atss/atss_r50_fpn_1x_coco.py',
    'fcos': 'fcos/fcos_r50-caffe_fpn_gn-head_1x_coco.py',
    'rtmdet': 'rtmdet/rtmdet_tiny_8xb32-300e_coco.py',
    'dino': 'dino/dino-4scale_r50_8xb2-12e_coco.py',
    'deformable_detr': 'deformable_detr/deformable-detr_r50_16xb2-50e_coco.py',
    'yolox': 'yolox/yolox_tiny_8xb8-300e_coco.py',
    'mask2former_det': 'mask2former/mask2former_r50_8xb2-lsj-50e_coco.py',
}
SEGMENTORS = {
    'fcn': 'fcn/fcn_r50-d8_4xb4-80k_ade20k-512x512.py',
    'pspnet': 'pspnet/pspnet_r50-d8_4xb4-80k_ade20k-512x512.py',
    'deeplabv3plus': 'deeplabv3plus/deeplabv3plus_r50-d8_4xb4-80k_ade20k-512x512.py',
    'upernet': 'upernet/upernet_r50_4xb4-80k_ade20k-512x512.py',
    'segformer': 'segformer/segformer_mit-b0_8xb2-160k_ade20k-512x512.py',
    'sem_fpn': 'sem_fpn/fpn_r50_4xb4-160k_ade20k-512x512.py',
    'mask2former_seg': 'mask2former/mask2former_r50_8xb2-160k_ade20k-512x512.py',
}
NAMED = {**{name: f'mmdet::{path}' for name, path in DETECTORS.items()},
         **{name: f'mmseg::{path}' for name, path in SEGMENTORS.items()}}
SHAPES = ('disk', 'square', 'triangle', 'star', 'cross', 'heart', 'moon', 'arrow')
SIZES = ('scale', 'scales', 'img_scale', 'crop_size', 'size', 'border')  # in pixels
SHRINK = 5


def write_trial(leaf: Path, data: Path, path: Path) -> None:
    """Write a config that trains another for two steps on small images of the demo's data."""
    cfg = Config.fromfile(leaf)
    dataset = cfg.train_dataloader.dataset
    inner = dataset
    while 'dataset' in inner:  # YOLOX mixes images of the data set inside
        inner = inner.dataset
    if cfg.default_scope == 'mmdet':
        inner.update(data_root=f'{data}/coco/', metainfo=dict(classes=SHAPES))
        inner.ann_file = inner.ann_file.replace('panoptic', 'instances')
    else:
        inner.data_root = f'{data}/ade20k'
    replace_sync_bn(cfg.model)
    if cfg.model.type == 'DINO':
        cfg.model.num_queries = 100  # it takes the best positions, and here are fewer than 900
    for part in (cfg.train_dataloader, cfg.model.data_preprocessor, cfg.get('custom_hooks')):
        shrink(part)
    cfg.train_dataloader.update(batch_size=2, num_workers=0, persistent_workers=False)
    cfg.train_cfg = dict(type='IterBasedTrainLoop', max_iters=2)
    cfg.update({f'{split}_{part}': None for split in ('val', 'test')
                for part in ('cfg', 'dataloader', 'evaluator')})
    cfg.default_hooks.logger.interval = 1
    cfg.dump(path)


def shrink(node: Any) -> None:
    """Divide every size in pixels, in place."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in SIZES:
                node[key] = _shrunk(value)
            else:
                shrink(value)
    elif isinstance(node, (list, tuple)):
        for child in node:
            shrink(child)


def _shrunk(value: Any) -> Any:
    """Of whole numbers, to multiples of 32; other numbers are shares of an image."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_shrunk, value))
    if isinstance(value, int) and abs(value) > 64:
        return round(value / SHRINK / 32) * 32
    return value
