"""Normalises images as for the pretraining on ImageNet, wherever a config does it."""

import math
from collections.abc import Iterator
from typing import Optional

from ..backbones.zoo import IMAGENET
from ..cfg.tree import at, type_name, typed_paths
from ..toolboxes import Toolbox
from .changes import Changes

PIPELINES = ('train_dataloader', 'val_dataloader', 'test_dataloader', 'tta_pipeline')


def set_normalisation(cfg: dict, path: tuple, toolbox: Toolbox, strides: tuple) -> Changes:
    """Normalise images as ImageNet pretraining does, and keep the padding divisor valid.

    Args:
        cfg (dict): The whole config.
        path (tuple): Of the part that has the backbone.
        toolbox (Toolbox): The config's.
        strides (tuple[int, int]): Deepest stride of the old and of the new backbone's outputs.
    """
    # A wrapper normalises for the detector in it, whose own preprocessor is then unused.
    found = dict.fromkeys(_preprocessor(cfg, place) for place in (path, ('model', )))
    found = [place for place in found if place] or [_preprocessor(cfg, ())]
    found = {place: at(cfg, place) for place in found if place}
    values = [value for place, node in found.items()
              for value in _divisors(place, node, *strides)]
    warnings = ()
    channels = at(cfg, path)['backbone'].get('in_channels', 3)
    transforms = [(place, node) for key in PIPELINES
                  for place, node in typed_paths(cfg.get(key), (key, ))
                  if type_name(node) == 'Normalize']
    if channels != 3:
        warnings = (f'images have {channels} channels: mean and std stay as they are', )
    elif transforms:  # the preprocessor would normalise a second time
        for place, node in transforms:
            values += _normalised(place, node, 'to_rgb')
    elif found:
        for place, node in found.items():
            values += _normalised(place, node, toolbox.rgb_key(node))
    else:
        warnings = (
            'there is no data_preprocessor: images have to be normalised as for ImageNet', )
    return Changes(tuple(values), warnings=warnings)


def _normalised(path: tuple, node: dict, to_rgb: str) -> Iterator:
    for key in ('mean', 'std'):
        if list(node.get(key) or ()) != list(IMAGENET[key]):
            yield (*path, key), list(IMAGENET[key])
    yield (*path, to_rgb), True
    if node.get('rgb_to_bgr'):
        yield (*path, 'rgb_to_bgr'), False


def _divisors(path: tuple, preprocessor: dict, before: int, after: int) -> Iterator:
    for key in ('pad_size_divisor', 'size_divisor'):
        divisor = preprocessor.get(key)
        if divisor and divisor > 1 and before and divisor % before == 0 and divisor % after:
            yield (*path, key), math.lcm(divisor, after)


def _preprocessor(cfg: dict, path: tuple) -> Optional[tuple]:
    """Path of the innermost data preprocessor of a part of a config."""
    if not isinstance(at(cfg, path).get('data_preprocessor'), dict):
        return None
    inner = (*path, 'data_preprocessor')
    return _preprocessor(cfg, inner) or inner
