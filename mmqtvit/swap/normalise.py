"""Normalises images as for the pretraining on ImageNet, wherever a config does it."""

import math
from collections.abc import Iterator
from typing import Any, Optional

from ..backbones.zoo import IMAGENET
from ..toolboxes import get_toolbox
from .refuse import type_name

PIPELINES = ('train_dataloader', 'val_dataloader', 'test_dataloader', 'tta_pipeline')


def set_normalisation(cfg: dict, model: dict, part: dict, scope: str,
                      strides: tuple) -> list:
    """Normalise images as ImageNet pretraining does, and keep the padding divisor valid.

    Args:
        cfg (dict): The whole config, changed in place.
        model (dict): Its model.
        part (dict): The part of the model that has the backbone.
        scope (str): Name of the toolbox.
        strides (tuple[int, int]): Deepest stride of the old and of the new backbone's outputs.

    Returns:
        list[str]: Warnings.
    """
    # A wrapper normalises for the detector in it, whose own preprocessor then rests.
    found = [_innermost(node) for node in (part, model)]
    found = [each for each in found if each is not None] or [_innermost(cfg)]
    found = [each for each in found if each is not None]
    for preprocessor in found:
        _keep_divisible(preprocessor, *strides)
    channels = part['backbone'].get('in_channels', 3)
    if channels != 3:
        return [f'images have {channels} channels: mean and std stay as they are']
    transforms = list(_transforms([cfg.get(key) for key in PIPELINES]))
    for transform in transforms:
        _normalise(transform, 'to_rgb')
    if transforms:  # the preprocessor would do it once more
        return []
    for preprocessor in found:
        _normalise(preprocessor, get_toolbox(scope).rgb_key(preprocessor))
    return [] if found else [
        'there is no data_preprocessor: images have to be normalised as for ImageNet']


def _normalise(node: dict, to_rgb: str) -> None:
    for key in ('mean', 'std'):
        if list(node.get(key) or ()) != list(IMAGENET[key]):
            node[key] = list(IMAGENET[key])
    node[to_rgb] = True
    if node.get('rgb_to_bgr'):
        node['rgb_to_bgr'] = False


def _keep_divisible(preprocessor: dict, before: int, after: int) -> None:
    for key in ('pad_size_divisor', 'size_divisor'):
        divisor = preprocessor.get(key)
        if divisor and divisor > 1 and before and divisor % before == 0 and divisor % after:
            preprocessor[key] = math.lcm(divisor, after)


def _innermost(node: dict) -> Optional[dict]:
    inner = node.get('data_preprocessor')
    return (_innermost(inner) or inner) if isinstance(inner, dict) else None


def _transforms(node: Any) -> Iterator:
    """The transforms that normalise, in data loaders and pipelines however nested."""
    if isinstance(node, (list, tuple)):
        for child in node:
            yield from _transforms(child)
    elif isinstance(node, dict):
        if type_name(node) == 'Normalize':
            yield node
        else:
            yield from _transforms(list(node.values()))
