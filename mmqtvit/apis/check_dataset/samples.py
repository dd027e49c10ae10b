"""Reads one sample after another by the loading steps of its data set and judges what comes."""

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional

import numpy as np
from PIL import Image, UnidentifiedImageError
from torch.utils.data import Dataset

from ..images import cut_to_eight_bits, damage, is_turned
from .findings import Finding

IGNORED = None  # in place of the label of pixels without a class
NOT_OPENED = (UnidentifiedImageError, Image.DecompressionBombError)


class Samples(Dataset):
    """The samples of a data set, each as what is wrong with it and what it holds.

    Args:
        dataset (mmengine.dataset.BaseDataset): With loading steps alone in its pipeline.
        num_classes (int, optional): Labels must be less. None if it is not known.
        ignore_index (int): Label of pixels without a class. Defaults to 255.
    """

    def __init__(self,
                 dataset: Any,
                 num_classes: Optional[int],
                 ignore_index: int = 255) -> None:
        self.dataset, self.num_classes, self.ignore_index = dataset, num_classes, ignore_index

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple:
        """Read one.

        Returns:
            tuple[list[Finding], dict[int | None, int], str]: What is wrong; boxes, pixels or images
            by label, pixels without a class under ``IGNORED``; and which of the three.
        """
        record = self.dataset.get_data_info(index)
        ignored = _ignored(record)
        path = str(record.get('img_path', f'sample {index}'))
        sample = record
        for load in self.dataset.pipeline.transforms:
            try:
                sample = load(sample)
            except Exception as error:  # of files and annotations of any kind
                return [_cannot_load(load, record, path, error)], {}, ''
            if sample is None:
                return [Finding('sample left out by its loader', path, breaks=False)], {}, ''
        findings = _check_image(sample, path)
        if 'instances' in sample:
            found, amounts = self._check_instances(sample, path)
            if more := _ignored(sample) - ignored:  # which the toolbox does not tell
                found.append(Finding(
                    'mask without a polygon of three points, ignored by the toolbox', path,
                    f'{more} of {len(sample["instances"])}', breaks=False))
            unit = 'boxes'
        elif 'gt_seg_map' in sample:
            found, amounts = self._check_label_map(sample)
            unit = 'pixels'
        else:
            found, amounts = self._check_labels(sample, path)
            unit = 'images'
        return findings + found, amounts, unit

    def _check_label_map(self, sample: dict) -> tuple:
        labels, path = sample['gt_seg_map'], str(sample['seg_map_path'])
        if labels.ndim != 2:
            return [Finding('label map of several channels', path,
                            f'shape {labels.shape}; is it a picture of the labels?')], {}
        findings = _check_wide(labels, path)
        values, pixels = np.unique(labels, return_counts=True)
        amounts = dict(zip(values.tolist(), pixels.tolist()))
        if self.ignore_index in amounts:
            amounts[IGNORED] = amounts.pop(self.ignore_index)
        if not amounts.keys() - {IGNORED}:
            findings.append(Finding('no pixel has a class', path, breaks=False))
        if wrong := self._out_of_range(amounts.keys() - {IGNORED}):
            more = ' after reduce_zero_label' if sample.get('reduce_zero_label') else ''
            void = '' if len(wrong) > 1 else (
                f'; if {wrong[0]} means "no class", set ignore_index={wrong[0]} in the heads')
            findings.append(Finding(
                'labels out of range', path,
                f'{", ".join(map(str, wrong))}{more}; there are {self.num_classes} classes, and '
                f'{self.ignore_index} is ignored{void}'))
        return findings, amounts

    def _check_instances(self, sample: dict, path: str) -> tuple:
        height, width = sample['img'].shape[:2] if 'img' in sample else (math.inf, math.inf)
        findings, amounts = [], Counter()
        for instance in sample['instances']:
            if not instance.get('ignore_flag'):
                amounts[instance['bbox_label']] += 1
            x1, y1, x2, y2 = instance['bbox']
            if not (x1 < x2 and y1 < y2 and x1 < width and y1 < height and x2 > 0 and y2 > 0):
                findings.append(Finding('box that is empty or outside the image', path,
                                        f'{[x1, y1, x2, y2]} in {width}×{height}'))
        if wrong := self._out_of_range(amounts):
            findings.append(Finding('labels out of range', path,
                                    f'{", ".join(map(str, wrong))}; there are {self.num_classes} '
                                    'classes'))
        return findings, dict(amounts)

    def _check_labels(self, sample: dict, path: str) -> tuple:
        amounts = Counter(np.atleast_1d(sample.get('gt_label', [])).tolist())
        if wrong := self._out_of_range(amounts):
            return [Finding('labels out of range', path,
                            f'{", ".join(map(str, wrong))}; there are {self.num_classes} classes')
                    ], {}
        return [], dict(amounts)

    def _out_of_range(self, labels: Sequence) -> list:
        most = math.inf if self.num_classes is None else self.num_classes
        return sorted(label for label in labels if not 0 <= label < most)


def _ignored(sample: dict) -> int:
    return sum(bool(instance.get('ignore_flag')) for instance in sample.get('instances', ()))


def _cannot_load(load: Any, record: dict, path: str, error: Exception) -> Finding:
    part = 'image' if 'Image' in type(load).__name__ else 'label'
    place = path if part == 'image' else str(record.get('seg_map_path') or path)
    if isinstance(error, FileNotFoundError):
        return Finding(f'missing {part}', place)
    if isinstance(error, KeyError):  # its text is the key alone
        return Finding(f'{part} cannot be read', place,
                       f'{type(load).__name__} needs {error} in the annotation')
    if part == 'image' and Path(path).is_file() and (wrong := damage(Path(path).read_bytes())):
        return Finding('image cannot be read', path, wrong)
    return Finding(f'{part} cannot be read', place, str(error) or type(error).__name__)


def _check_image(sample: dict, path: str) -> list:
    """Damage, and the image's size beside those that its label and annotation have."""
    if 'img' not in sample or not Path(path).is_file():  # remote: that it could be read must do
        return []
    findings = []
    size = sample['img'].shape[:2]
    data = Path(path).read_bytes()
    if wrong := damage(data):
        findings.append(Finding('damaged image', path, wrong, breaks=False))
    elif cut := cut_to_eight_bits(data, sample['img']):
        findings.append(Finding('image of more than eight bits, cut to eight by its loader', path,
                                cut, breaks=False))
    others = {}
    if sample.get('height') is not None and sample.get('width') is not None:
        others['annotation'] = (sample['height'], sample['width'])
    if 'gt_seg_map' in sample:
        others['label map'] = sample['gt_seg_map'].shape[:2]
    for name, other in others.items():
        if tuple(other) != tuple(size):
            turned = ', turned as its EXIF orientation says' if is_turned(data) else ''
            findings.append(Finding(
                f'image and {name} differ in size', path,
                f'{size[1]}×{size[0]} pixels{turned}, {other[1]}×{other[0]} in the {name}'))
    return findings


def _check_wide(labels: np.ndarray, path: str) -> list:
    """The toolbox takes the last eight bits of a label and says nothing."""
    if labels.dtype != np.uint8 or not Path(path).is_file():
        return []
    with suppress(*NOT_OPENED), Image.open(path) as image:
        if image.mode.startswith(('I', 'F')) and (most := np.asarray(image).max()) > 255:
            return [Finding('label map of more than eight bits', path,
                            f'labels up to {most}; the toolbox reads their last eight bits')]
    return []
