"""Goes over the data sets of a config."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
from mmengine import Config
from mmengine.registry import DATASETS, init_default_scope
from mmengine.runner import Runner
from torch.utils.data import DataLoader
from tqdm import tqdm

from ...cfg.datasets import check_datasets, dataset_leaves
from ...cfg.tree import type_name
from ...errors import UserError
from ...terminal import quiet_toolbox
from ...toolboxes import get_toolbox, require_toolbox
from ..unlabelled import unlabelled
from .coco import check_categories, check_records, read_coco
from .findings import Examination, Finding
from .loaders import check_batches, check_evaluation
from .samples import IGNORED, Samples
from .unread import unread_images

#: What numpy says when mmengine joins the records of no sample at all.
NO_RECORDS = 'need at least one array to concatenate'


def examine(cfg: Config, splits: Sequence, workers: int = 0) -> list:
    """Read all images and labels that the loaders of a config will read.

    Each data set is built by its toolbox with the loading steps of its own pipeline.

    Args:
        cfg (Config): As from :func:`load_config`.
        splits (Sequence[str]): Some of 'train', 'val' and 'test'.
        workers (int): Processes that read; 0 reads in this one. Defaults to 0.

    Returns:
        list[Examination]: One for each data set, also of those inside wrappers.

    Raises:
        UserError: If the toolbox or whole folders are missing, the config names no data set, or it
            cannot be told how one is read.
    """
    toolbox = require_toolbox(cfg)
    check_datasets(cfg, splits)
    init_default_scope(cfg.default_scope)
    found = _distinct(cfg, splits)
    if not found:
        raise UserError(f'the config names no data set for {", ".join(splits)}')
    with quiet_toolbox(toolbox.coco_package):
        return _examine_all(cfg, splits, found, workers)


def _examine_all(cfg: Config, splits: Sequence, found: list, workers: int) -> list:
    results = [_examine_one(cfg, keys, leaf, workers) for keys, leaf in found]
    for split in splits:
        if split == 'test' and 'val' in splits and all(
                cfg.get(f'val_{part}') == cfg.get(f'test_{part}')
                for part in ('dataloader', 'evaluator')):
            continue
        if mine := [one for one in results if any(key.startswith(split) for key in one.keys)]:
            mine[0].findings += _examine_loader(cfg, split, mine)
    return results


def _examine_loader(cfg: Config, split: str, results: list) -> list:
    """Build a loader as training does and judge it, unless its data sets cannot be built."""
    if any(not one.num_samples for one in results):
        return []
    loop = type_name(cfg.get(f'{split}_cfg') or {})
    if split == 'train' and (cfg.get('train_cfg') or {}).get('by_epoch'):
        loop = 'EpochBasedTrainLoop'
    try:
        loader = Runner.build_dataloader(get_toolbox(cfg.default_scope).complete_loader(cfg, split))
    except Exception as error:  # of steps and samplers in any state
        text = str(error) or type(error).__name__
        return [Finding('loader that cannot be built', f'{split}_dataloader', text)]
    findings = check_batches(loader, split, loop)
    if split != 'train':
        findings += [
            Finding('data set whose samples bring no labels for the metric', key,
                    'a training ends at its validation' if split == 'val' else
                    'it is predicted on, not evaluated', breaks=split == 'val')
            for key in unlabelled(cfg, split)]
        findings += check_evaluation(loader, cfg.get(f'{split}_evaluator'), split)
    return findings


def _distinct(cfg: Config, splits: Sequence) -> list:
    """The data sets, each once, with the keys at which they stand."""
    found = []
    for split in splits:
        dataset = (cfg.get(f'{split}_dataloader') or {}).get('dataset')
        for key, leaf in dataset_leaves(dataset, f'{split}_dataloader.dataset'):
            steps = [step for step in leaf.get('pipeline') or ()
                     if isinstance(step, dict) and type_name(step).startswith('Load')]
            leaf = dict(leaf, pipeline=steps, lazy_init=True)
            same = next((keys for keys, other in found if other == leaf), None)
            if same is None:
                found.append(([key], leaf))
            else:
                same.append(key)
    return found


def _examine_one(cfg: Config, keys: list, leaf: dict, workers: int) -> Examination:
    result = Examination(keys, type_name(leaf))
    dataset = _build(leaf, result)
    if dataset is None:
        return result
    if not leaf['pipeline'] and 'img' not in dataset.get_data_info(0):
        raise UserError(f'{keys[0]}.pipeline has no step named Load…, so it cannot be told how its '
                        'images are read')
    result.classes = dataset.metainfo.get('classes')
    heads = get_toolbox(cfg.default_scope).head_classes(cfg)
    result.findings += _compare_classes(heads, result)
    num_classes = len(result.classes) if result.classes else max(heads.values(), default=None)
    samples = Samples(dataset, num_classes, _ignore_index(cfg))
    loader = DataLoader(samples, batch_size=None, num_workers=workers, collate_fn=_as_it_is,
                        worker_init_fn=_one_thread)
    num_ignored = 0
    for findings, amounts, unit in tqdm(loader, desc=keys[0].split('_')[0], unit='image'):
        result.findings += findings
        num_ignored += amounts.pop(IGNORED, 0)
        result.count(amounts)
        result.unit = result.unit or unit
    result.num_samples = len(samples)
    result.findings += unread_images(dataset)
    if num_ignored and len(result.amounts) == 1:
        result.findings.append(_one_class(result, samples.ignore_index, leaf))
    if keys[0].startswith('train') and (absent := result.absent()):
        result.findings.append(
            Finding('class that never occurs', keys[0], ', '.join(absent), breaks=False))
    return result


def _build(leaf: dict, result: Examination) -> Any:
    """Build a data set and judge what its annotations say; None if it cannot be read.

    Args:
        leaf (dict): Its config.
        result (Examination): Takes the findings.
    """
    key, dataset, content = result.keys[0], None, None
    try:
        classes = (leaf.get('metainfo') or {}).get('classes')
        assert not isinstance(classes, str) or Path(classes).is_file(), (
            f'classes={classes!r} is one text; a tuple of one has a comma: ({classes!r}, )')
        dataset = DATASETS.build(leaf)
        if _is_coco(dataset):
            content, found = read_coco(dataset.ann_file, dataset.backend_args)
            result.findings += found
            if content is None:
                return None
            result.findings += check_records(content, dataset.ann_file)
        dataset.full_init()
        if content is not None:
            result.findings += check_categories(content, dataset.ann_file, dataset)
    except Exception as error:  # of configs and files in any state
        if isinstance(error, ValueError) and NO_RECORDS in str(error):
            places = [dataset.ann_file, *dataset.data_prefix.values()]
            result.findings.append(Finding('data set without a sample', key,
                                           f'looked in {", ".join(filter(None, places))}'))
            if content is not None:  # classes of other names leave nothing over
                result.findings += check_categories(content, dataset.ann_file, dataset)
        else:
            # The text of an OSError names the file, its repr does not.
            told = isinstance(error, (AssertionError, OSError, UserError))
            text = str(error) if told else repr(error)
            result.findings.append(Finding('data set cannot be built', key, text))
        return None
    return dataset


def _one_class(result: Examination, ignore_index: int, leaf: dict) -> Finding:
    label, = result.amounts
    zero = ('reduce_zero_label=True turns label 0 into it and label 1 into 0; leave it out, or '
            'write the classes as 1, 2, …' if leaf.get('reduce_zero_label') else
            f'write another class as 1, 2, …, not as {ignore_index}')
    return Finding(
        'label maps of one class alone, beside pixels that are left out', result.keys[0],
        f'label {label} and {ignore_index}: {ignore_index} means "no class", so a model that says '
        f'{label} everywhere gets an IoU of 100; {zero}')


def _is_coco(dataset: Any) -> bool:
    names = {cls.__name__ for cls in type(dataset).__mro__}
    return 'CocoDataset' in names and 'CocoPanopticDataset' not in names


def _compare_classes(heads: dict, result: Examination) -> list:
    found = []
    for key, number in heads.items() if result.classes else ():
        if number != len(result.classes):
            found.append(Finding('head whose number of classes is not that of the data set', key,
                                 f'{number}; {result.keys[0]} has {len(result.classes)}',
                                 breaks=number < len(result.classes)))
    return found


def _ignore_index(cfg: Config) -> int:
    """The label that the segmentation head leaves out of its loss."""
    head = (cfg.get('model') or {}).get('decode_head') or {}
    if isinstance(head, (list, tuple)):  # one after another; the last one decides
        head = head[-1]
    return head.get('ignore_index', 255)


def _as_it_is(sample: tuple) -> tuple:
    return sample


def _one_thread(worker: int) -> None:
    cv2.setNumThreads(0)  # as many processes as there are cores already
