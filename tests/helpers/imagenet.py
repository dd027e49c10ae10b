"""ImageNet's folders with a handful of images, and its configs cut down to them."""

from pathlib import Path

import cv2
import numpy as np
from mmengine import Config

ROOT = Path(__file__).parents[2]
NUM_CLASSES = 12  # more than ten, so that folders sorted as text are out of order


def write_images(folder: Path, names: list) -> None:
    """Write an image of 40×48 for each name; its brightness is the number of its folder."""
    rng = np.random.default_rng(0)
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        digits = ''.join(filter(str.isdigit, path.parent.name)) or '0'
        image = rng.integers(0, 40, (40, 48, 3)) + 15 * int(digits)
        cv2.imwrite(str(path), image.astype(np.uint8))


def write_imagenet(folder: Path) -> None:
    """Write ``train`` and ``val`` with a folder for each class."""
    write_images(folder / 'train', [f'n{label:02}/{i}.JPEG' for label in range(NUM_CLASSES)
                                    for i in range(2)])
    write_images(folder / 'val', [f'n{label:02}/ILSVRC2012_val_{label + 1:08}.JPEG'
                                  for label in range(NUM_CLASSES)])


def small(cfg: Config, data_root: str) -> Config:
    """A shipped config with a small model, small images and ``data_root``."""
    cfg.model.backbone.update(
        arch=dict(series='b', widths=[8, 8, 8, 16, 16], depths=[1, 1, 1, 1, 1], head_dim=8))
    cfg.model.neck.update(in_channels=16, hidden_channels=16, out_channels=16)
    cfg.model.head.update(in_channels=16, num_classes=NUM_CLASSES)
    cfg.model.head.loss.num_classes = NUM_CLASSES
    cfg.data_preprocessor.update(num_classes=NUM_CLASSES, sizes=[32, 48])
    metainfo = dict(classes=[str(label) for label in range(NUM_CLASSES)])
    for split in ('train', 'val', 'test'):
        loader = cfg[f'{split}_dataloader']
        loader.update(batch_size=4, num_workers=0, persistent_workers=False)
        loader.dataset.metainfo = metainfo
        if loader.dataset.type == 'ImageNet':
            loader.dataset.data_root = data_root
        for step in loader.dataset.pipeline:
            if step.type in ('RandomResizedCrop', 'ResizeEdge'):
                step.scale = 48
            if step.type == 'CenterCrop':
                step.crop_size = 48
    cfg.train_cfg.max_epochs = 2
    cfg.param_scheduler = cfg.param_scheduler[:1]
    cfg.default_hooks.logger.interval = 1
    cfg.custom_hooks[1].num_samples = 8
    cfg.randomness.seed = 0
    return cfg
