"""Judges built data loaders: whether they give batches, and what the metrics judge them by."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

from mmengine.dataset import InfiniteSampler
from torch.utils.data import DataLoader

from ...cfg.tree import type_name
from ...errors import UserError
from .coco import check_judged, check_records, read_coco, some
from .findings import Finding

MAX_SHOWN = 5


class Judged(NamedTuple):
    """A metric that finds the labels of an image by its id.

    Args:
        key (str): Place of the metric in the config.
        path (str, optional): Its annotation file; None where the samples bring their labels.
        masks (bool): Whether it judges masks.
        dataset (Dataset): What it judges, with wrappers.
    """
    key: str
    path: Optional[str]
    masks: bool
    dataset: Any


def refuse_loader(loader: DataLoader, split: str, loop: str, evaluators: dict) -> None:
    """Raise for a loader that gives nothing or is judged wrongly.

    Args:
        loader (DataLoader): A built one.
        split (str): 'train', 'val' or 'test'.
        loop (str): Class name of the loop that reads it.
        evaluators (dict[str, Any]): The evaluators in the config, by 'val' and 'test'.

    Raises:
        UserError: If it has findings that break the run.
    """
    findings = check_batches(loader, split, loop)
    if split != 'train':
        findings += check_evaluation(loader, evaluators.get(split), split)
    if breaking := [finding for finding in findings if finding.breaks]:
        raise UserError(_message(breaking))


def check_batches(loader: DataLoader, split: str, loop: str) -> list:
    """Find loaders without a batch, and those that leave out or never finish.

    Args:
        loader (DataLoader): A built one.
        split (str): 'train', 'val' or 'test'.
        loop (str): Class name of the loop that reads it.

    Returns:
        list[Finding]: At most one.
    """
    key, size = f'{split}_dataloader', len(loader.dataset)
    sampler = getattr(loader.batch_sampler, 'sampler', loader.sampler)
    batch_size = getattr(loader.batch_sampler, 'batch_size', loader.batch_size)
    if isinstance(sampler, InfiniteSampler):
        if 'Iter' in loop:
            return []
        return [Finding('sampler without an end in a loop of epochs', key,
                        f'{type(sampler).__name__} in {loop}: its first epoch would never end; '
                        'use DefaultSampler, or IterBasedTrainLoop')]
    if next(iter(loader.batch_sampler), None) is None:
        return [Finding('loader without a batch', key,
                        f'{size} samples, of which {type(sampler).__name__} takes {len(sampler)}, '
                        f'make no batch of {batch_size} with drop_last='
                        f'{getattr(loader.batch_sampler, "drop_last", False)}; '
                        f'set drop_last=False or a smaller {key}.batch_size')]
    left = size % batch_size
    if split != 'train' and left and getattr(loader.batch_sampler, 'drop_last', False):
        return [Finding('evaluation that leaves out images', key,
                        f'drop_last=True drops the last {left} of {size}')]
    return []


def check_evaluation(loader: DataLoader, evaluator: Any, split: str) -> list:
    """Compare the images of a loader with those that its metrics have labels of.

    Metrics of COCO's kind find the labels by the image's id. So an id must stand for one image,
    and the annotation file must list the images of the loader and no others.

    Args:
        loader (DataLoader): A built one.
        evaluator (Any): The evaluator in the config.
        split (str): 'val' or 'test'.

    Returns:
        list[Finding]: Also of the annotations themselves.
    """
    findings, contents = [], {}
    for judged in _judged(evaluator, f'{split}_evaluator', loader.dataset):
        ids = [judged.dataset.get_data_info(index).get('img_id')
               for index in range(len(judged.dataset))]
        if double := [id_ for id_, count in Counter(ids).items() if count > 1]:
            findings.append(Finding(
                'images that share an id, which one metric cannot tell apart', judged.key,
                f'{len(ids)} images of {split}_dataloader, {len(set(ids))} ids; shared: '
                f'{some(double)}. Give each data set a metric of its own '
                "(type='MultiDatasetsEvaluator'), or join the files with new ids"))
        if judged.path is None:
            continue
        if judged.path not in contents:
            contents[judged.path], found = _read(judged)
            findings += found
        if (content := contents[judged.path]) is not None:
            findings += _compare_ids(ids, content, judged)
    return findings


def _judged(evaluator: Any, key: str, dataset: Any) -> Iterator:
    if isinstance(evaluator, (list, tuple)):
        for index, metric in enumerate(evaluator):
            yield from _judged(metric, f'{key}.{index}', dataset)
    elif isinstance(evaluator, dict):
        name, metrics = type_name(evaluator), evaluator.get('metrics')
        if name == 'MultiDatasetsEvaluator':
            parts = zip(metrics, getattr(dataset, 'datasets', [dataset]))
            for index, (metric, part) in enumerate(parts):
                yield from _judged(metric, f'{key}.metrics.{index}', part)
        elif metrics is not None:
            yield from _judged(metrics, f'{key}.metrics', dataset)
        elif name.startswith(('Coco', 'LVIS')) and not evaluator.get('format_only'):
            asked = evaluator.get('metric', 'bbox')
            yield Judged(key, evaluator.get('ann_file'),
                         'segm' in ([asked] if isinstance(asked, str) else asked), dataset)


def _read(judged: Judged) -> tuple:
    if '://' in judged.path:
        return None, []
    content, findings = read_coco(judged.path)
    if content is not None:
        findings += check_judged(content, judged.path, judged.masks)
        if not _is_of(judged.dataset, judged.path):  # else it is looked through with its data set
            findings += check_records(content, judged.path)
    return content, findings


def _is_of(dataset: Any, path: str) -> bool:
    children = getattr(dataset, 'datasets', None) or [getattr(dataset, 'dataset', None)]
    return any(_is_of(child, path) for child in children if child is not None) or (
        Path(getattr(dataset, 'ann_file', None) or '').resolve() == Path(path).resolve())


def _compare_ids(ids: list, content: dict, judged: Judged) -> list:
    known, findings = dict.fromkeys(image['id'] for image in content['images']), []
    if absent := [id_ for id_ in dict.fromkeys(ids) if id_ not in known]:
        findings.append(Finding('metric with the annotation file of other images',
                                f'{judged.key}.ann_file',
                                f'{judged.path} does not list the ids {some(absent)}'))
    elif more := known.keys() - set(ids):
        findings.append(Finding(
            'metric that expects images which are not read', f'{judged.key}.ann_file',
            f'{judged.path} lists {len(known)} images, {len(set(ids))} are read: the boxes of '
            f'the other {len(more)} count as missed'))
    return findings


def _message(findings: list) -> str:
    lines = ['this run would end without a result or with a wrong one.']
    lines += [f'  {finding.kind}: {finding.place}: {finding.detail}'
              for finding in findings[:MAX_SHOWN]]
    if len(findings) > MAX_SHOWN:
        lines.append(f'  and {len(findings) - MAX_SHOWN} more; tools/check_dataset.py names all')
    return '\n'.join(lines)
