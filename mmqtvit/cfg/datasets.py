"""Looks for the data sets that a config names, before anything is built."""

import inspect
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from mmengine import Config

from ..errors import UserError
from .tree import type_name

LAYOUTS = {
    'ADE20KDataset': """{root}/
  images/training/*.jpg       images/validation/*.jpg
  annotations/training/*.png  annotations/validation/*.png
Published at http://sceneparsing.csail.mit.edu (ADEChallengeData2016.zip).""",
    'CocoDataset': """{root}/
  train2017/*.jpg  val2017/*.jpg
  annotations/instances_train2017.json  annotations/instances_val2017.json
Published at https://cocodataset.org (2017 train and val images, train/val annotations).""",
    'ImageNet': """{root}/
  train/n01440764/*.JPEG …  val/n01440764/*.JPEG …
or the images of each in one folder, and meta/train.txt, meta/val.txt
Published at https://www.image-net.org (ILSVRC2012).
real.json is published at https://github.com/google-research/reassessed-imagenet.""",
    'ImageNetV2': """{root}/
  0/*.jpeg … 999/*.jpeg
Published at https://huggingface.co/datasets/vaishaal/ImageNetV2 (matched frequency).""",
}
MAX_SHOWN = 8


def check_datasets(cfg: Config, splits: Sequence) -> None:
    """Make sure that the folders and annotation files of a config exist and are not empty.

    Args:
        cfg (Config): A toolbox's config.
        splits (Sequence[str]): Some of 'train', 'val' and 'test'.

    Raises:
        UserError: If a path is missing; the message shows the expected tree and what to do. Or
            if there is a list where a path is meant.
    """
    missing, layouts, options = [], [], []
    for split in splits:
        dataset = (cfg.get(f'{split}_dataloader') or {}).get('dataset')
        for key, leaf in dataset_leaves(dataset, f'{split}_dataloader.dataset'):
            _check_paths(leaf, key)
            absent = [path for path in dataset_paths(leaf) if not _is_there(path)]
            if absent and not _downloads(cfg, leaf):
                missing += absent
                options.append(f'{key}.data_root=DIR')
                layout = LAYOUTS.get(type_name(leaf), '')
                # With classes of its own it is another data set in the same layout.
                if layout and not leaf.get('metainfo'):
                    layouts.append(layout.format(root=(leaf.get('data_root') or '.').rstrip('/')))
        for key, path in annotation_files(cfg.get(f'{split}_evaluator'), f'{split}_evaluator'):
            _check_path(key, path)
            if '://' not in path and not _is_there(path):
                missing.append(path)
                options.append(f'{key}={os.path.join("DIR", *path.split("/")[-2:])}')
    if missing:
        raise UserError(_message(list(dict.fromkeys(missing)), list(dict.fromkeys(layouts)),
                                 options))


def dataset_leaves(dataset: Any, key: str) -> Iterator:
    """The data sets inside wrappers such as RepeatDataset and ConcatDataset.

    Yields:
        tuple[str, dict]: The dotted place in the config, and the data set's config.
    """
    if isinstance(dataset, (list, tuple)):
        for index, child in enumerate(dataset):
            yield from dataset_leaves(child, f'{key}.{index}')
    elif isinstance(dataset, dict):
        wrapped = [name for name in ('dataset', 'datasets') if name in dataset]
        for name in wrapped:
            yield from dataset_leaves(dataset[name], f'{key}.{name}')
        if not wrapped:
            yield key, dataset


def dataset_paths(dataset: dict) -> list:
    """The local folders and files that a data set reads, joined as OpenMMLab does."""
    backend = (dataset.get('backend_args') or {}).get('backend', 'local')
    if backend not in ('local', 'LocalBackend'):
        return []
    root = dataset.get('data_root') or ''
    prefix = dataset.get('data_prefix') or {}
    if not prefix and type_name(dataset) == 'ImageNet':
        prefix = dataset.get('split') or {}
    names = list(prefix.values()) if isinstance(prefix, dict) else [prefix]
    names.append(dataset.get('ann_file'))
    names = [name for name in names if isinstance(name, str) and name] or ['']
    paths = [os.path.join(root, name).rstrip('/') for name in names]
    return [path for path in paths if path and '://' not in path]


def annotation_files(evaluator: Any, key: str) -> Iterator:
    """The annotation files that metrics read.

    Yields:
        tuple[str, str]: The dotted place in the config, and the file.
    """
    if isinstance(evaluator, (list, tuple)):
        for index, metric in enumerate(evaluator):
            yield from annotation_files(metric, f'{key}.{index}')
    elif isinstance(evaluator, dict):
        if path := evaluator.get('ann_file'):
            yield f'{key}.ann_file', path
        yield from annotation_files(evaluator.get('metrics'), f'{key}.metrics')


def _check_paths(dataset: dict, key: str) -> None:
    prefix = dataset.get('data_prefix')
    for name in ('data_root', 'ann_file'):
        _check_path(f'{key}.{name}', dataset.get(name))
    for name, path in (prefix if isinstance(prefix, dict) else {}).items():
        _check_path(f'{key}.data_prefix.{name}', path)


def _check_path(key: str, path: Any) -> None:
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise UserError(f'{key} must be one path, got {path!r}. Several sets of images are several '
                        "data sets: dataset=dict(type='ConcatDataset', datasets=[…, …])")


def _is_there(path: str) -> bool:
    if not os.path.isdir(path):
        return os.path.exists(path)
    with os.scandir(path) as entries:
        return any(entries)


def _downloads(cfg: Config, dataset: dict) -> bool:
    """Whether a data set fetches what is missing, as mmpretrain's CIFAR and MNIST do."""
    module = import_module(f'{cfg.default_scope}.datasets')
    cls = getattr(module, type_name(dataset), None)
    return (cls is not None and 'download' in inspect.signature(cls).parameters
            and dataset.get('download', True))


def _message(missing: list, layouts: list, options: list) -> str:
    lines = [f'the data set is not there. Missing, seen from {os.getcwd()}:']
    for path in missing[:MAX_SHOWN]:
        lines.append(f'  {path}' + (' (empty)' if os.path.isdir(path) else ''))
    if len(missing) > MAX_SHOWN:
        lines.append(f'  and {len(missing) - MAX_SHOWN} more')
    lines += [f'Expected:\n{layout}' for layout in layouts]
    lines += [
        'If it is elsewhere, link it there, or add',
        f'  --cfg-options {" ".join(options)}',
        'To see it work without a data set: make demo',
    ]
    return '\n'.join(lines)
