"""Finds image files that a data set leaves out without a word, since their names end otherwise."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

from ..images import SUFFIXES
from .findings import Finding


def unread_images(dataset: Any) -> list:
    """Count the images in the folder of a data set that it does not read.

    Args:
        dataset (mmengine.dataset.BaseDataset): A built one. Where an annotation file lists its
            images, others may lie beside them.

    Returns:
        list[Finding]: At most one.
    """
    prefix = dataset.data_prefix.get('img_path') or dataset.data_prefix.get('img')
    chosen = dataset.ann_file or getattr(dataset, '_indices', None) is not None
    if chosen or not prefix or not Path(prefix).is_dir():
        return []
    records = [dataset.get_data_info(index) for index in range(len(dataset))]
    labels = {os.path.abspath(record.get('seg_map_path') or '') for record in records}
    read = {os.path.abspath(record.get('img_path') or '') for record in records}
    there = [path for path in Path(prefix).rglob('*')
             if path.suffix.lower() in SUFFIXES and os.path.abspath(path) not in labels]
    left_out = Counter(path.suffix for path in there if os.path.abspath(path) not in read)
    if not left_out:
        return []
    taken = getattr(dataset, 'img_suffix', None) or getattr(dataset, 'extensions', ())
    suffixes = ', '.join(f'{number} end in {suffix}' for suffix, number in left_out.most_common())
    return [Finding('images in the folder that are not read', str(prefix),
                    f'{left_out.total()} of {len(there)}: {suffixes}; read are those that end in '
                    f'{taken if isinstance(taken, str) else ", ".join(taken)}', breaks=False)]
