"""Looks for the data sets that a config names, before anything is built."""

from pathlib import Path
from typing import Iterator, Optional

from mmengine import Config

from .errors import UserError

LAYOUTS = {
    'ADE20KDataset': """{root}/
  images/{{training,validation}}/*.jpg
  annotations/{{training,validation}}/*.png
Published at http://sceneparsing.csail.mit.edu (ADEChallengeData2016.zip).""",
    'CocoDataset': """{root}/
  annotations/instances_train2017.json, instances_val2017.json
  train2017/*.jpg, val2017/*.jpg
Published at https://cocodataset.org (2017 train and val images, annotations).""",
}


def _leaves(dataset: dict) -> Iterator[dict]:
    """The data sets inside wrappers such as RepeatDataset and ConcatDataset."""
    inner = dataset.get('dataset') or dataset.get('datasets')
    if inner is None:
        yield dataset
        return
    for child in inner if isinstance(inner, (list, tuple)) else [inner]:
        yield from _leaves(child)


def _join(root: Optional[str], path: str) -> Optional[Path]:
    """The local path that OpenMMLab reads, or None for a remote one."""
    if '://' in path or (root and '://' in root):
        return None
    return Path(root or '', path)


def _paths(dataset: dict) -> Iterator[Path]:
    root = dataset.get('data_root')
    prefix = dataset.get('data_prefix') or {}
    names = list(prefix.values()) if isinstance(prefix, dict) else [prefix]
    names.append(dataset.get('ann_file'))
    for name in names:
        if isinstance(name, str) and name and (path := _join(root, name)):
            yield path


def _evaluator_paths(evaluator) -> Iterator[Path]:
    for metric in evaluator if isinstance(evaluator, (list, tuple)) else [evaluator or {}]:
        name = metric.get('ann_file')
        if isinstance(name, str) and (path := _join(None, name)):
            yield path


def check_datasets(cfg: Config, splits: tuple) -> None:
    """Make sure that the folders and annotation files of a config exist.

    Args:
        cfg (Config): A toolbox's config.
        splits (tuple[str]): Some of 'train', 'val' and 'test'.

    Raises:
        UserError: If a path is missing; the message shows the expected tree.
    """
    missing, layouts = [], {}
    for split in splits:
        dataloader = cfg.get(f'{split}_dataloader') or {}
        for dataset in _leaves(dataloader.get('dataset') or {}):
            absent = [path for path in _paths(dataset) if not path.exists()]
            missing += absent
            kind = str(dataset.get('type')).rpartition('.')[-1]
            if absent and kind in LAYOUTS and not dataset.get('metainfo'):
                layouts[kind] = LAYOUTS[kind].format(root=dataset.get('data_root') or '.')
        missing += [
            path for path in _evaluator_paths(cfg.get(f'{split}_evaluator')) if not path.exists()
        ]
    if not missing:
        return
    lines = ['the data set is not there. Missing:']
    lines += [f'  {path}' for path in dict.fromkeys(missing)]
    lines += [f'Expected:\n{layout}' for layout in layouts.values()]
    lines += [
        'Data elsewhere: --cfg-options train_dataloader.dataset.data_root=… (val, test alike).',
        'To see it work without a data set: make demo',
    ]
    raise UserError('\n'.join(lines))
