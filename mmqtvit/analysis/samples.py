"""Made-up images' descriptions and truth, as the toolboxes' models ask for them."""

import numpy as np
import torch
from torch import Tensor

#: Instances in an image, two by two.
NUM_INSTANCES = 4


def make_samples(scope: str, images: Tensor) -> list:
    """Describe images to a model of a toolbox, with something to learn.

    That is four boxes with masks of class 0, a label map of class 0, or class 0. Some models ask
    for it in evaluation too.

    Args:
        scope (str): 'mmdet', 'mmseg' or 'mmpretrain'.
        images (Tensor): (B, 3, H, W).

    Returns:
        list: One of the toolbox's samples for each image.
    """
    make = dict(mmdet=_detection, mmseg=_segmentation, mmpretrain=_classification)[scope]
    return [make(images.shape[-2:], images.device) for _ in images]


def _meta(size: tuple) -> dict:
    size = tuple(size)
    return dict(img_id=0, img_path='', ori_shape=size, img_shape=size, pad_shape=size,
                batch_input_shape=size, scale_factor=(1., 1.), flip=False, flip_direction=None)


def _detection(size: tuple, device: torch.device) -> object:
    from mmdet.structures import DetDataSample
    from mmdet.structures.mask import BitmapMasks
    from mmengine.structures import InstanceData
    sample = DetDataSample(metainfo=_meta(size))
    height, width = size
    boxes, masks = [], np.zeros((NUM_INSTANCES, height, width), np.uint8)
    for index in range(NUM_INSTANCES):
        top, left = index // 2 * height // 2, index % 2 * width // 2
        bottom, right = top + height // 3, left + width // 3
        boxes.append([left, top, right, bottom])
        masks[index, top:bottom, left:right] = 1
    sample.gt_instances = InstanceData(
        bboxes=torch.tensor(boxes, dtype=torch.float32, device=device),
        labels=torch.zeros(NUM_INSTANCES, dtype=torch.long, device=device),
        masks=BitmapMasks(masks, height, width))
    sample.ignored_instances = InstanceData(
        bboxes=torch.zeros(0, 4, device=device),
        labels=torch.zeros(0, dtype=torch.long, device=device))
    return sample


def _segmentation(size: tuple, device: torch.device) -> object:
    from mmengine.structures import PixelData
    from mmseg.structures import SegDataSample
    sample = SegDataSample(metainfo=_meta(size))
    label = torch.zeros(1, *size, dtype=torch.long, device=device)
    sample.gt_sem_seg = PixelData(data=label)
    return sample


def _classification(size: tuple, device: torch.device) -> object:
    from mmpretrain.structures import DataSample
    return DataSample(metainfo=_meta(size)).set_gt_label(0).to(device)
