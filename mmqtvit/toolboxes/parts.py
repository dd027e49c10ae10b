"""What adapters share: made-up samples, numbers and names of classes, pipelines."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Optional

import torch


def noise(size: tuple, num_images: int, channels: int = 3) -> list:
    """Images (C, H, W) of uint8, the same each time."""
    generator = torch.Generator().manual_seed(0)
    return [torch.randint(0, 256, (channels, *size), dtype=torch.uint8, generator=generator)
            for _ in range(num_images)]


def image_channels(part: dict) -> int:
    """Channels of the images that a model takes, by the part of its config with the backbone."""
    return (part.get('backbone') or {}).get('in_channels', 3)


def num_classes_of(node: Any) -> int:
    """The smallest number of classes that a part of a config names; 1000 where none does."""
    return min(_class_counts(node), default=1000)


def _class_counts(node: Any) -> list:
    if isinstance(node, (list, tuple)):
        return [count for child in node for count in _class_counts(child)]
    if not isinstance(node, dict):
        return []
    own = [value for key, value in node.items()
           if key in ('num_classes', 'num_things_classes') and isinstance(value, int) and value > 0]
    return own + [count for child in node.values() for count in _class_counts(child)]


def class_name(classes: Optional[Sequence], label: int) -> str:
    """Name of a class; its label where the names are not known."""
    return str(classes[label]) if classes else str(label)


def sample_meta(size: tuple) -> dict:
    """What samples say of an image of a size that was neither resized nor padded."""
    size = tuple(size)
    return dict(img_id=0, img_path='', ori_shape=size, img_shape=size, pad_shape=size,
                batch_input_shape=size, scale_factor=(1., 1.), flip=False, flip_direction=None)


def flip_pipeline(pipeline: Sequence, meta_keys: tuple = ()) -> list:
    """A pipeline that gives an image and its mirror image.

    Args:
        pipeline (list[dict]): Of the test data; its last step packs the sample.
        meta_keys (tuple[str]): What the packed sample must say of the image. Defaults to (), as
            the last step does.
    """
    pack = deepcopy(pipeline[-1])
    if meta_keys:
        pack.meta_keys = meta_keys
    flips = [dict(type='RandomFlip', prob=0.), dict(type='RandomFlip', prob=1.)]
    return [*deepcopy(pipeline[:-1]), dict(type='TestTimeAug', transforms=[flips, [pack]])]
