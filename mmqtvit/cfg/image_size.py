"""The size of the images that a config feeds its model."""

import math
from collections.abc import Iterator
from typing import Any

from mmengine import Config

from .datasets import dataset_leaves
from .tree import type_name

DEFAULTS = dict(mmdet=(800, 1333), mmseg=(512, 512), mmpretrain=(224, 224))
# Where a transform says how large what it returns is, and whether as (width, height).
SIZES = {
    'Resize': ('scale', True),
    'FixScaleResize': ('scale', True),
    'RandomChoiceResize': ('scales', True),
    'RandomResize': ('scale', True),
    'RandomCrop': ('crop_size', False),
    'CenterCrop': ('crop_size', False),
    'RandomResizedCrop': ('scale', True),
}


def config_image_size(cfg: Config) -> tuple:
    """(height, width) in pixels of the batch that a config's model gets, as far as it says.

    The preprocessor's fixed size comes first, then the training crop of a segmentor, then the last
    size in the test pipeline; the preprocessor pads to a multiple of its divisor.
    """
    scope, model = cfg.default_scope, cfg.get('model') or {}
    preprocessor = model.get('data_preprocessor') or {}
    divisor = preprocessor.get('pad_size_divisor') or preprocessor.get('size_divisor') or 1
    if preprocessor.get('size') and scope == 'mmseg':
        return _pair(preprocessor['size'])
    splits = ('train', 'test') if scope == 'mmseg' else ('test', 'val', 'train')
    for split in splits:
        sizes = list(_sizes((cfg.get(f'{split}_dataloader') or {}).get('dataset')))
        if sizes:
            return _padded(sizes[-1], divisor)
    return _padded(DEFAULTS[scope], divisor)


def _sizes(dataset: Any) -> Iterator:
    for _, leaf in dataset_leaves(dataset, ''):
        for step in leaf.get('pipeline') or ():
            key, width_first = SIZES.get(type_name(step), (None, False))
            value = step.get(key) if key else None
            if isinstance(value, (list, tuple)) and isinstance(value[0], (list, tuple)):
                value = value[-1]
            if not isinstance(value, (int, list, tuple)) or not all(
                    isinstance(side, int) for side in _pair(value)):
                continue  # fractions of the image, or nothing
            size = _pair(value)
            if step.get('keep_ratio'):
                size = tuple(sorted(size))
            yield size[::-1] if width_first and not step.get('keep_ratio') else size
        return  # data sets of one split share a pipeline


def _pair(value: Any) -> tuple:
    return (value, value) if isinstance(value, int) else tuple(value)[:2]


def _padded(size: tuple, divisor: int) -> tuple:
    return tuple(math.ceil(side / divisor) * divisor for side in size)
