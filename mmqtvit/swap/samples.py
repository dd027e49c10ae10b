"""Batches of noise with made-up truth, as the toolboxes' loaders would give them."""

from collections.abc import Iterator
from typing import Any

import torch

from ..cfg.tree import as_list, type_name

VIEWS = 2  # of each image, where a self-supervised model names no number


def make_batch(data: dict, part: dict, scope: str, size: tuple, num_images: int = 2) -> dict:
    """What a data preprocessor takes: ``inputs`` and ``data_samples``.

    Args:
        data (dict): The whole config: its training data say whether objects have masks and how
            many views a self-supervised model gets.
        part (dict): The detector, segmentor or classifier in it.
        scope (str): 'mmdet', 'mmseg' or 'mmpretrain'.
        size (tuple[int, int]): (height, width) in pixels.
        num_images (int): Defaults to 2.
    """
    torch.manual_seed(0)
    if scope == 'mmdet':
        return _detection(part, size, num_images, _has_masks(data, part))
    if scope == 'mmseg':
        return _segmentation(part, size, num_images)
    return _classification(part, size, num_images, _num_views(data))


def _has_masks(data: dict, part: dict) -> bool:
    """Whether the training data of a detector have masks; without data its preprocessor says."""
    if not data.get('train_dataloader'):
        return bool((part.get('data_preprocessor') or {}).get('pad_mask'))
    return any(step.get('with_mask', type_name(step) == 'LoadPanopticAnnotations')
               for step in _typed(data['train_dataloader'])
               if type_name(step).endswith('Annotations'))


def _num_views(data: dict) -> int:
    """Views of each image in self-supervised training."""
    counts = [count for step in _typed(data.get('train_dataloader'))
              if type_name(step) == 'MultiView' for count in as_list(step['num_views'])]
    return sum(counts) or VIEWS


def _typed(node: Any) -> Iterator:
    """All dicts with a type in a part of a config."""
    if isinstance(node, (list, tuple)):
        for child in node:
            yield from _typed(child)
    elif isinstance(node, dict):
        if type_name(node):
            yield node
        yield from _typed(list(node.values()))


def is_self_supervised(part: dict) -> bool:
    """Whether a model of MMPretrain learns from views instead of labels."""
    return 'neck' in part and type_name(part).lower() in (
        'barlowtwins', 'byol', 'densecl', 'moco', 'mocov3', 'simclr', 'simsiam', 'swav')


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


def _noise(size: tuple, num_images: int, channels: int = 3) -> list:
    return [torch.randint(0, 256, (channels, *size), dtype=torch.uint8) for _ in range(num_images)]


def _detection(part: dict, size: tuple, num_images: int, with_mask: bool) -> dict:
    from mmdet.testing import demo_mm_inputs, demo_mm_proposals, demo_track_inputs
    if type_name(part) == 'BaseReID':
        return _identities(part, size, num_images)
    num_classes, shapes = num_classes_of(part), [(3, *size)] * num_images
    if type_name(part).endswith('Video'):
        return demo_track_inputs(
            batch_size=1, num_frames=2, key_frames_inds=[0], image_shapes=shapes[:1],
            num_classes=num_classes, with_mask=with_mask)
    roi_head = part.get('roi_head') or {}
    with_semantic = any(key in {**part, **roi_head} for key in ('semantic_head', 'panoptic_head'))
    data = demo_mm_inputs(
        num_images, shapes, num_classes=max(num_classes, 2), with_mask=with_mask,
        with_semantic=with_semantic,
        sem_seg_output_strides=8 if roi_head.get('semantic_head') else 1)
    for sample in data['data_samples']:
        sample.gt_instances.labels %= num_classes
    if roi_head and not part.get('rpn_head'):  # Fast R-CNN reads proposals from files
        for sample, proposals in zip(data['data_samples'], demo_mm_proposals(shapes, 100)):
            del proposals.labels
            sample.proposals = proposals
    return data


def _identities(part: dict, size: tuple, num_images: int) -> dict:
    from mmdet.structures import ReIDDataSample
    samples = []
    for index in range(2 * num_images):  # two identities, which a triplet loss compares
        sample = ReIDDataSample(metainfo=dict(img_shape=size))
        samples.append(sample.set_gt_label(index % 2))
    return dict(inputs=_noise(size, 2 * num_images), data_samples=samples)


def _segmentation(part: dict, size: tuple, num_images: int) -> dict:
    from mmengine.structures import PixelData
    from mmseg.structures import SegDataSample
    num_classes = num_classes_of(part)
    samples = []
    for _ in range(num_images):
        sample = SegDataSample(metainfo=dict(
            ori_shape=size, img_shape=size, pad_shape=size, flip=False))
        label = torch.randint(0, num_classes, (1, size[0] // 8 + 1, size[1] // 8 + 1))
        label = label.repeat_interleave(8, 1).repeat_interleave(8, 2)[:, :size[0], :size[1]]
        sample.gt_sem_seg = PixelData(data=label)
        samples.append(sample)
    return dict(inputs=_noise(size, num_images, part['backbone'].get('in_channels', 3)),
                data_samples=samples)


def _classification(part: dict, size: tuple, num_images: int, num_views: int) -> dict:
    from mmpretrain.structures import DataSample
    num_classes = num_classes_of(part.get('head'))
    many = type_name(part.get('head')).startswith(('MultiLabel', 'CSRA'))
    images = torch.stack(_noise(size, num_images, part['backbone'].get('in_channels', 3)))
    samples = [
        DataSample(metainfo=dict(num_classes=num_classes)).set_gt_label(
            [index % num_classes] if many else index % num_classes) for index in range(num_images)
    ]
    views = [images.float() for _ in range(num_views)]
    return dict(inputs=views if is_self_supervised(part) else images, data_samples=samples)
