"""Accuracy against the reassessed labels of ImageNet (ReaL)."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from mmengine.evaluator import BaseMetric
from mmpretrain.registry import METRICS

from ...errors import UserError


@METRICS.register_module()
class ReaLAccuracy(BaseMetric):
    """Top-1 accuracy against the labels of `Are we done with ImageNet?
    <https://arxiv.org/abs/2006.07159>`_ (Beyer et al., 2020).

    An image may have several labels, any of which is right; images without one are not counted.

    Args:
        ann_file (str): ``real.json``: for each of the 50,000 validation images, in the order of
            the numbers in their names, a list of labels 0 to 999.
        collect_device (str): Where results of several processes are gathered, 'cpu' or 'gpu'.
            Defaults to 'cpu'.
        prefix (str, optional): What precedes ``top1`` in the metric's name. Defaults to None,
            which is 'real'.

    Raises:
        UserError: If the file is not such a list, an image's name does not end in the number of
            one of its entries, or no image that was evaluated has a label.
    """

    default_prefix = 'real'

    def __init__(self,
                 ann_file: str,
                 collect_device: str = 'cpu',
                 prefix: Optional[str] = None) -> None:
        super().__init__(collect_device=collect_device, prefix=prefix)
        try:
            self.labels = json.loads(Path(ann_file).read_text())
        except (OSError, ValueError) as error:
            raise UserError(f'{ann_file} cannot be read as JSON: {error}') from error
        if not (isinstance(self.labels, list) and all(map(_are_labels, self.labels))):
            raise UserError(f'{ann_file} must hold a list of lists of labels 0 to 999, as '
                            "ReaL's real.json")
        self.ann_file = ann_file

    def process(self, data_batch: dict, data_samples: Sequence[dict]) -> None:
        """Keep whether each prediction is right, None for an image without labels.

        Args:
            data_batch (dict): Not used.
            data_samples (Sequence[dict]): With ``img_path`` and ``pred_score`` of shape (1000, ).
        """
        for sample in data_samples:
            labels = self._labels_of(sample['img_path'])
            prediction = int(sample['pred_score'].argmax())
            self.results.append(prediction in labels if labels else None)

    def _labels_of(self, path: str) -> list:
        number = re.search(r'(\d+)$', Path(path).stem)
        if number is None or not 1 <= int(number[1]) <= len(self.labels):
            raise UserError(
                f'{Path(path).name} does not end in a number from 1 to {len(self.labels)}: '
                f"{self.ann_file} is about ImageNet's validation images, "
                'ILSVRC2012_val_00000001.JPEG and so on')
        return self.labels[int(number[1]) - 1]

    def compute_metrics(self, results: list) -> dict:
        """Average what :meth:`process` kept.

        Args:
            results (list[bool | None]): One entry for each image.

        Returns:
            dict[str, float]: ``top1`` in per cent.
        """
        counted = [right for right in results if right is not None]
        if not counted:
            raise UserError(f'none of the {len(results)} images has a label in {self.ann_file}')
        return {'top1': 100 * sum(counted) / len(counted)}


def _are_labels(entry: object) -> bool:
    return isinstance(entry, list) and all(
        type(label) is int and 0 <= label < 1000 for label in entry)
