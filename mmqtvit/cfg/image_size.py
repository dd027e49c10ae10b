"""The size of the images that a config feeds its model."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from mmengine import Config

from .datasets import dataset_leaves
from .tree import type_name

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


def config_image_size(cfg: Config, default: tuple, splits: Sequence, fixed: bool) -> tuple:
    """(height, width) in pixels of the batch that a config's model gets, as far as it says.

    It is the last size that a pipeline names, padded to a multiple of the preprocessor's divisor.

    Args:
        cfg (Config): A toolbox's config.
        default (tuple[int, int]): (height, width) in pixels where no pipeline names a size.
        splits (Sequence[str]): Whose pipelines are asked, such as 'test'; the first that names a
            size counts.
        fixed (bool): Whether the size that the preprocessor has, if any, is that of every batch.
    """
    preprocessor = (cfg.get('model') or {}).get('data_preprocessor') or {}
    divisor = preprocessor.get('pad_size_divisor') or preprocessor.get('size_divisor') or 1
    if preprocessor.get('size') and fixed:
        return _pair(preprocessor['size'])
    for split in splits:
        sizes = list(_sizes((cfg.get(f'{split}_dataloader') or {}).get('dataset')))
        if sizes:
            return _padded(sizes[-1], divisor)
    return _padded(default, divisor)


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
