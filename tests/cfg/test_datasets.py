from pathlib import Path

import pytest
from mmengine import Config

from mmqtvit.apis import UserError, check_datasets, load_config
from mmqtvit.cfg.datasets import dataset_leaves, dataset_paths

CONFIGS = Path(__file__).parents[2] / 'configs'


def message(cfg, *splits):
    with pytest.raises(UserError) as error:
        check_datasets(cfg, splits)
    return str(error.value)


def test_ade20k(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cfg = load_config(str(CONFIGS / 'upernet_qtvit1_ade20k.py'))
    text = message(cfg, 'train', 'val')
    root = 'data/ade/ADEChallengeData2016'
    for part in ('images/training', 'annotations/training', 'images/validation'):
        assert f'{root}/{part}' in text
    for part in (str(tmp_path), 'sceneparsing.csail.mit.edu', 'make demo',
                 'train_dataloader.dataset.data_root=DIR val_dataloader.dataset.data_root=DIR'):
        assert part in text
    assert 'training' not in message(cfg, 'test').split('Expected')[0]
    for folder in ('images', 'annotations'):
        for split in ('training', 'validation'):
            (tmp_path / root / folder / split).mkdir(parents=True)
            (tmp_path / root / folder / split / 'a.jpg').touch()
    check_datasets(cfg, ('train', 'val', 'test'))
    (tmp_path / root / 'images/training/a.jpg').unlink()
    assert f'{root}/images/training (empty)' in message(cfg, 'train')


@pytest.mark.parametrize('name, key', [
    ('cascade_mask_rcnn_qtvit1_coco', 'train_dataloader.dataset.data_root'),
    ('cascade_mask_rcnn_qtvit1_coco_3x', 'train_dataloader.dataset.dataset.data_root'),
])
def test_coco(tmp_path, monkeypatch, name, key):
    monkeypatch.chdir(tmp_path)
    text = message(load_config(str(CONFIGS / f'{name}.py')), 'train', 'val')
    for part in ('  data/coco/train2017\n', '  data/coco/annotations/instances_val2017.json\n',
                 'https://cocodataset.org', f'{key}=DIR',
                 'val_evaluator.ann_file=DIR/annotations/instances_val2017.json'):
        assert part in text
    assert text.count('instances_train2017.json') == 2  # as missing, and in the tree


def test_annotations_of_the_evaluator_alone(tmp_path):
    cfg = Config(dict(
        default_scope='mmdet',
        test_evaluator=[dict(type='A'), dict(type='CocoMetric', ann_file=f'{tmp_path}/b/c.json')]))
    text = message(cfg, 'test')
    assert f'{tmp_path}/b/c.json' in text
    assert 'test_evaluator.1.ann_file=DIR/b/c.json' in text


def test_wrappers():
    leaf = dict(type='CocoDataset')
    dataset = dict(type='ConcatDataset', datasets=[
        leaf, dict(type='RepeatDataset', dataset=dict(type='MultiImageMixDataset', dataset=leaf))])
    assert [key for key, _ in dataset_leaves(dataset, 'd')] == ['d.datasets.0',
                                                                'd.datasets.1.dataset.dataset']


@pytest.mark.parametrize('dataset, paths', [
    (dict(data_root='r', data_prefix=dict(img='i/', seg=None), ann_file='a'), ['r/i', 'r/a']),
    (dict(data_root='r', data_prefix='i', ann_file='/abs/a'), ['r/i', '/abs/a']),
    (dict(data_root='r/'), ['r']),
    (dict(data_prefix=dict(img='i')), ['i']),
    (dict(data_root='s3://bucket', ann_file='a'), []),
    (dict(data_root='r', backend_args=dict(backend='petrel')), []),
    (dict(data_root='r', backend_args=None), ['r']),
])
def test_joined_as_mmengine_does(dataset, paths):
    assert dataset_paths(dataset) == paths


def test_data_set_with_its_own_classes_is_not_taken_for_coco(tmp_path):
    dataset = dict(type='CocoDataset', data_root=f'{tmp_path}/own', metainfo=dict(classes=('a', )),
                   ann_file='a.json')
    cfg = Config(dict(default_scope='mmdet', train_dataloader=dict(dataset=dataset)))
    text = message(cfg, 'train')
    assert f'{tmp_path}/own/a.json' in text
    assert 'cocodataset' not in text


def test_what_downloads_itself_is_not_missing(tmp_path):
    dataset = dict(type='CIFAR10', data_root=f'{tmp_path}/cifar10', split='train')
    cfg = Config(dict(default_scope='mmpretrain', train_dataloader=dict(dataset=dataset)))
    check_datasets(cfg, ('train', 'val'))
    dataset['download'] = False
    cfg = Config(dict(default_scope='mmpretrain', train_dataloader=dict(dataset=dataset)))
    assert 'cifar10' in message(cfg, 'train')
