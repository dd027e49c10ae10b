"""ADE20K's labels as the shipped config reads them, and a data set of two classes."""

import json
import re
from pathlib import Path

import cv2
import numpy as np
from mmengine import Config
from mmengine.registry import init_default_scope
from mmengine.runner import Runner

from mmqtvit.weights import read_checkpoint
from tests.configs.test_configs import load

ROOT = Path(__file__).parents[2]


def test_ade20k_other_is_ignored_and_classes_start_at_zero(tmp_path):
    from mmseg.registry import DATASETS
    cfg = load('upernet_qtvit1_ade20k')
    init_default_scope('mmseg')
    for folder in ('images', 'annotations'):
        (tmp_path / folder / 'validation').mkdir(parents=True)
    labels = np.resize(np.arange(151, dtype=np.uint8), (40, 40))
    cv2.imwrite(str(tmp_path / 'annotations/validation/a.png'), labels)
    cv2.imwrite(str(tmp_path / 'images/validation/a.jpg'), np.zeros((40, 40, 3), np.uint8))
    dataset_cfg = cfg.val_dataloader.dataset
    dataset_cfg.data_root = str(tmp_path)
    dataset = DATASETS.build(dataset_cfg)
    assert len(dataset.metainfo['classes']) == 150 == cfg.model.decode_head.num_classes
    sample = dataset[0]['data_samples'].gt_sem_seg.data.numpy()[0]
    assert np.array_equal(sample == 255, labels == 0)
    assert np.array_equal(sample[labels > 0], labels[labels > 0] - 1)


def write_pets(root):
    """Two classes of three images, in COCO's format; ids as awkward as COCO's own."""
    (root / 'annotations').mkdir(parents=True)
    for split in ('train', 'val'):
        (root / f'{split}2017').mkdir()
        images, annotations = [], []
        for i in range(3):
            cv2.imwrite(str(root / f'{split}2017/{i}.jpg'),
                        np.full((64, 96, 3), 60 * i, np.uint8))
            images.append(dict(id=i, file_name=f'{i}.jpg', height=64, width=96))
            for j, category in enumerate((17, 18)):
                annotations.append(dict(id=2 * i + j + 1, image_id=i, category_id=category,
                                        bbox=[5 + 40 * j, 5, 40, 40], area=1600, iscrowd=0))
        categories = [dict(id=17, name='cat'), dict(id=18, name='dog')]
        (root / f'annotations/instances_{split}2017.json').write_text(json.dumps(
            dict(info={}, images=images, annotations=annotations, categories=categories)))


def test_two_class_recipe_of_the_readme(tmp_path, monkeypatch):
    """Trains and evaluates the README's recipe as it stands there."""
    readme = (ROOT / 'README.md').read_text()
    recipe = re.search(r'```python\n# two_classes\.py\n(.*?)```', readme, re.S)[1]
    (tmp_path / 'configs').symlink_to(ROOT / 'configs')
    (tmp_path / 'two_classes.py').write_text(recipe)
    write_pets(tmp_path / 'data/pets')
    monkeypatch.chdir(tmp_path)
    cfg = Config.fromfile('two_classes.py')
    cfg.work_dir = 'work'
    for split in ('train', 'val', 'test'):
        cfg[f'{split}_dataloader'].update(num_workers=0, persistent_workers=False)
        for step in cfg[f'{split}_dataloader'].dataset.pipeline:
            if step['type'] == 'Resize':
                step['scale'] = (96, 64)
    cfg.train_cfg.update(max_epochs=1, val_interval=1)
    runner = Runner.from_cfg(cfg)
    runner.train()
    checkpoint = read_checkpoint('work/epoch_1.pth')
    assert tuple(checkpoint['meta']['dataset_meta']['classes']) == ('cat', 'dog')
    assert checkpoint['state_dict']['bbox_head.retina_cls.weight'].shape[0] == 2 * 9
    assert runner.val_evaluator.metrics[0].cat_ids == [17, 18]
