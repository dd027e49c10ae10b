"""Looks through a COCO annotation file for what is dropped or taken wrongly without a word."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, Optional

from mmengine.fileio import load

from .findings import Finding

NUMBER = (int, float)
#: Entries by which the records of a file are found, and their types.
NEEDED = dict(images=dict(id=(int, str)), categories=dict(id=int, name=str), annotations={})
EDGE = 1  # pixels that a box may reach over the border: published ones are rounded


def read_coco(path: str, backend_args: Optional[dict] = None) -> tuple:
    """Read an annotation file.

    Args:
        path (str): The file.
        backend_args (dict, optional): Of mmengine's file backend. Defaults to None.

    Returns:
        tuple[dict | None, list[Finding]]: Its content, None if it is no COCO file; and why.
    """
    try:
        content = load(path, backend_args=backend_args)
    except ValueError as error:  # json's
        return None, [Finding('annotation file cannot be read', path, str(error))]
    content = content if isinstance(content, dict) else {}
    if missing := [key for key in ('images', 'categories') if key not in content]:
        return None, [Finding("annotation file that is not COCO's", path,
                              f'without {", ".join(missing)}')]
    findings = [finding for key, needed in NEEDED.items()
                for finding in _check_list(content.get(key, []), key, needed, path)]
    return (None if findings else content), findings


def check_records(content: dict, path: str) -> list:
    """Find what is wrong with the records themselves.

    Args:
        content (dict): Of the annotation file.
        path (str): The file.

    Returns:
        list[Finding]: In the order of the file.
    """
    findings = []
    for key in ('images', 'annotations'):
        counts = Counter(record.get('id') for record in content.get(key, ()))
        if double := [id_ for id_, count in counts.items() if count > 1]:
            findings.append(Finding(f'ids of {key} that are not unique', path, some(double)))
    images = {}
    for number, image in enumerate(content['images']):
        if wrong := _wrong_entries(image, file_name=str, width=NUMBER, height=NUMBER):
            name = image.get('file_name', f'at position {number}')
            findings.append(Finding('image record without what the toolbox reads',
                                    f'{path}, {name}', wrong))
        else:
            images[image['id']] = image
    for number, annotation in enumerate(content.get('annotations', ())):
        place = f'{path}, annotation {annotation.get("id", f"at position {number}")}'
        findings += _check_annotation(annotation, images, place)
    return findings


def check_judged(content: dict, path: str, masks: bool) -> list:
    """Find what the evaluation reads of a file and training does not.

    Args:
        content (dict): Of the annotation file of a metric.
        path (str): The file.
        masks (bool): Whether masks are judged too.

    Returns:
        list[Finding]: One for each kind, with the number of annotations.
    """
    findings, places = [], {}
    if 'info' not in content:
        findings.append(Finding("annotation file without 'info'", path,
                                "pycocotools stops there at the evaluation; 'info': {} will do"))
    if not content.get('annotations'):
        findings.append(Finding('annotation file of a metric without an annotation', path,
                                'every result will be -1', breaks=False))
    for annotation in content.get('annotations', ()):
        for kind in _wrong_for_evaluation(annotation, masks):
            places.setdefault(kind, []).append(annotation.get('id'))
    for (kind, breaks), ids in places.items():
        findings.append(Finding(kind, path, f'{len(ids)} annotations: ids {some(ids)}', breaks))
    return findings


def check_categories(content: dict, path: str, dataset: Any) -> list:
    """Compare the classes of a data set with the categories of its file.

    Labels are numbered in the file's order, and names that it does not have are skipped, so the
    names and their order must be the same, or labels get the name of another class.

    Args:
        content (dict): Of the annotation file.
        path (str): The file.
        dataset (CocoDataset): Built from it.

    Returns:
        list[Finding]: Of the classes, then of the categories that are left out.
    """
    names = {category['id']: category['name'] for category in content['categories']}
    classes = list(dataset.metainfo['classes'])
    numbered = [names.get(category_id) for category_id in dataset.cat_ids]
    findings = []
    if absent := [name for name in classes if name not in numbered]:
        findings.append(Finding('classes that the annotation file does not have', path,
                                f'{some(absent)}; it has {some(list(names.values()))}'))
    elif numbered != classes:
        findings.append(Finding(
            'classes in another order than in the annotation file, which the toolbox follows', path,
            f'{some(classes)} in the config, {some(numbered)} in the file'))
    used = Counter(annotation.get('category_id') for annotation in content.get('annotations', ()))
    for category_id in sorted(used.keys() - set(dataset.cat_ids), key=str):
        findings.append(Finding(
            'category that the config does not know, left out by the toolbox', path,
            f'{names.get(category_id, "nameless")} (id {category_id}): {used[category_id]} '
            'annotations', breaks=False))
    return findings


def _wrong_for_evaluation(annotation: dict, masks: bool) -> Iterator:
    """Kinds of what is wrong with an annotation, and whether they break the evaluation."""
    id_, crowd = annotation.get('id'), annotation.get('iscrowd')
    if not isinstance(id_, int) or id_ == 0:
        yield ("annotation whose id is no whole number other than 0: pycocotools would take what "
               'is found there for missed'), True
    if crowd not in (0, 1):
        yield "annotation without 'iscrowd' 0 or 1, which the evaluation reads", True
    if annotation.get('ignore') and not crowd:
        yield "annotation with 'ignore', which pycocotools judges all the same", False
    if masks and not _is_mask(annotation.get('segmentation')):
        yield "annotation without a 'segmentation' that the evaluation of masks can read", True


def _is_mask(segmentation: Any) -> bool:
    """Whether it is a run-length encoding or polygons of three points and more."""
    if isinstance(segmentation, dict):
        return {'counts', 'size'} <= segmentation.keys()
    return (isinstance(segmentation, list) and len(segmentation) > 0
            and all(isinstance(polygon, list) and len(polygon) >= 6 for polygon in segmentation))


def _check_annotation(annotation: dict, images: dict, place: str) -> list:
    if wrong := _wrong_entries(annotation, image_id=(int, str), category_id=int, bbox=list,
                               area=NUMBER):
        return [Finding('annotation without what the toolbox reads', place, wrong)]
    image = images.get(annotation['image_id'])
    if image is None:
        number, text = annotation['image_id'], str(annotation['image_id'])
        if any(text == str(id_) for id_ in (images if isinstance(number, str) else ())):
            return [Finding('image_id that is text where the id of the image is a number', place,
                            repr(number))]
        return [Finding('annotation of an image that the file does not list', place,
                        f'image_id {number}', breaks=False)]
    wrong = None if annotation.get('ignore', False) else _wrong_box(annotation, image)
    if wrong is None:
        return []
    kind, breaks = wrong
    return [Finding(kind, f'{place} of {image["file_name"]}',
                    f'{annotation["bbox"]} in {image["width"]}×{image["height"]}', breaks)]


def _check_list(records: Any, key: str, needed: dict, path: str) -> list:
    """Find what is no list of records with the entries that are needed."""
    if not isinstance(records, list):
        return [Finding("annotation file that is not COCO's", path,
                        f'{key} is a {type(records).__name__}, no list')]
    findings = []
    for number, record in enumerate(records):
        wrong = (_wrong_entries(record, **needed) if isinstance(record, dict) else
                 f'a {type(record).__name__}, no object')
        if wrong:
            findings.append(
                Finding('record that cannot be read', f'{path}, {key}[{number}]', wrong))
    return findings


def _wrong_entries(record: dict, **types: Any) -> str:
    """What is missing in a record, and what is of another type, quoted; '' if nothing is."""
    wrong = []
    for key, expected in types.items():
        if key not in record:
            wrong.append(key)
        elif not isinstance(record[key], expected) or isinstance(record[key], bool):
            wrong.append(f'{key} (got {record[key]!r})')
    return ', '.join(wrong)


def _wrong_box(annotation: dict, image: dict) -> Optional[tuple]:
    """Kind of what is wrong with a box, and whether it breaks training; None if nothing is."""
    box = annotation['bbox']
    if len(box) != 4 or not all(isinstance(number, NUMBER) and math.isfinite(number)
                                for number in box):
        return 'box that is not four numbers', True
    x, y, width, height = box
    if width <= 0 or height <= 0:
        return 'empty box, left out by the toolbox', False
    if x >= image['width'] or y >= image['height'] or x + width <= 0 or y + height <= 0:
        return 'box outside the image, left out by the toolbox', False
    if width < 1 or height < 1 or not annotation['area'] > 0:
        return 'box thinner than a pixel or of area 0, left out by the toolbox', False
    if (x < -EDGE or y < -EDGE or x + width > image['width'] + EDGE
            or y + height > image['height'] + EDGE):
        return 'box that reaches over the border of the image', False
    return None


def some(values: list, at_most: int = 8) -> str:
    """The first values, and how many more there are."""
    more = f' and {len(values) - at_most} more' if len(values) > at_most else ''
    return ', '.join(map(str, values[:at_most])) + more
