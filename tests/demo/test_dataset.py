import json

import cv2
import numpy as np
import pytest
from pycocotools.coco import COCO

from mmqtvit.demo import CLASSES, SHAPES, write_dataset


@pytest.fixture(scope='module')
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp('demo')
    write_dataset(root, train=24, val=6, seed=3)
    return root


def files(root):
    return {path.relative_to(root): path.read_bytes()
            for path in sorted(root.rglob('*')) if path.is_file()}


def test_same_seed_same_bytes(root, tmp_path):
    write_dataset(tmp_path, train=24, val=6, seed=3)
    assert files(root) == files(tmp_path)


def test_other_seed_other_scenes_and_held_out_ones_are_new(root, tmp_path):
    write_dataset(tmp_path, train=6, val=6, seed=4)
    images = [path.read_bytes() for folder in (root, tmp_path)
              for path in folder.glob('coco/*2017/*.jpg')]
    assert len(images) == len(set(images)) == 42


def test_takes_the_place_of_earlier_scenes_and_leaves_other_files(tmp_path):
    write_dataset(tmp_path, train=5, val=3, seed=1)
    own = tmp_path / 'ade20k/images/training/my_own.jpg'
    own.touch()
    write_dataset(tmp_path, train=2, val=1, seed=1)
    own.unlink()  # fails if it is gone
    write_dataset(tmp_path / 'fresh', train=2, val=1, seed=1)
    assert files(tmp_path / 'fresh') == {
        path: data for path, data in files(tmp_path).items() if path.parts[0] != 'fresh'}


def test_images_that_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(cv2, 'imwrite', lambda path, image: False)
    with pytest.raises(OSError, match='could not write .*training_00000'):
        write_dataset(tmp_path, train=1, val=1)


def test_layouts(root):
    for split, count in (('training', 24), ('validation', 6)):
        images = sorted(p.stem for p in (root / 'ade20k/images' / split).glob('*.jpg'))
        labels = sorted(p.stem for p in (root / 'ade20k/annotations' / split).glob('*.png'))
        assert images == labels and len(images) == count


def test_labels(root):
    labels = [cv2.imread(str(p), cv2.IMREAD_UNCHANGED)
              for p in root.glob('ade20k/annotations/training/*.png')]
    assert all(label.dtype == np.uint8 and label.ndim == 2 for label in labels)
    assert set(np.unique(labels)) == set(range(len(CLASSES) + 1))  # every class, and other


@pytest.mark.parametrize('split', ['train2017', 'val2017'])
def test_instances_agree_with_the_label_map(root, split):
    coco = COCO(str(root / f'coco/annotations/instances_{split}.json'))
    folder = {'train2017': 'training', 'val2017': 'validation'}[split]
    assert [c['name'] for c in coco.loadCats(coco.getCatIds())] == list(SHAPES)
    ious = []
    for image in coco.imgs.values():
        stem = image['file_name'].split('.')[0]
        labels = cv2.imread(str(root / f'ade20k/annotations/{folder}/{stem}.png'),
                            cv2.IMREAD_UNCHANGED)
        assert labels.shape == (image['height'], image['width'])
        covered = np.zeros(labels.shape, bool)
        for record in coco.imgToAnns[image['id']]:
            mask = coco.annToMask(record).astype(bool)
            name = coco.cats[record['category_id']]['name']
            covered |= mask
            rows, columns = np.where(mask)
            inside = labels[mask] == 1 + CLASSES.index(name)
            ious.append(inside.sum() / max(mask.sum(), record['area']))
            x, y, width, height = record['bbox']
            assert abs(columns.min() - x) <= 1 and abs(rows.max() + 1 - y - height) <= 1
            assert width > 2 and height > 2 and record['area'] >= 60
            assert len(record['segmentation'][0]) >= 6
        shapes = labels > len(CLASSES) - len(SHAPES)
        assert (covered & shapes).sum() >= 0.97 * shapes.sum()
    assert len(ious) > 12 and np.mean(ious) > 0.97 and min(ious) > 0.9


def test_categories_are_all_drawn(root):
    data = json.loads((root / 'coco/annotations/instances_train2017.json').read_text())
    assert {a['category_id'] for a in data['annotations']} == set(range(1, 9))
