"""Test sets without labels: predicted on, and judged by nothing."""

import json
from pathlib import Path

import pytest

from mmqtvit import apis
from mmqtvit.apis import UserError, load_config, train
from mmqtvit.apis.check_dataset import examine

from ..helpers.toy import write_toy
from .test_inference import checkpoint

NO_LABELS = 'data set whose samples bring no labels for the metric'


class Toy:
    """A toy config of which one split has images alone."""

    def __init__(self, folder, toolbox):
        self.folder, self.toolbox, self.path = folder, toolbox, write_toy(folder, toolbox)
        self.weights = checkpoint(folder, load_config(self.path))

    def load(self, split='test'):
        cfg = load_config(self.path, {'work_dir': str(self.folder / 'run'),
                                      'visualizer.name': self.folder.name})
        dataset = cfg[f'{split}_dataloader'].dataset
        dataset.pipeline = [step for step in dataset.pipeline if step.type != 'LoadAnnotations']
        if self.toolbox == 'mmseg':
            dataset.data_prefix = dict(img_path='images')
        elif self.toolbox == 'mmpretrain':
            dataset.update(with_label=False, data_root=str(self.folder / 'data/images'))
        else:
            path = self.folder / 'data/images.json'
            records = json.loads(Path(dataset.data_root, dataset.ann_file).read_text())
            path.write_text(json.dumps(dict(records, annotations=[])))
            dataset.ann_file = cfg[f'{split}_evaluator'].ann_file = str(path)
        return cfg

    def findings(self, split):
        return {finding.kind: finding.breaks for one in examine(self.load(split), (split, ))
                for finding in one.findings}


@pytest.fixture(params=['mmseg', 'mmdet', 'mmpretrain'])
def toy(request, tmp_path):
    return Toy(tmp_path, request.param)


@pytest.mark.parametrize('tta', [False, True])
def test_predictions_are_kept(toy, tta, tmp_path):
    out = tmp_path / ('maps' if toy.toolbox == 'mmseg' else 'kept.pkl')
    metrics = apis.test(toy.load(), toy.weights, out=str(out), show_dir=str(tmp_path / 'shown'),
                        tta=tta)
    assert set(metrics.values()) <= {-1}  # of COCO's evaluation
    assert len(list(out.iterdir())) == 4 if toy.toolbox == 'mmseg' else out.stat().st_size
    assert len([path for path in (tmp_path / 'shown').rglob('*.*')
                if path.suffix in ('.jpg', '.png')]) == 4
    log = sorted((tmp_path / 'run').glob('*/*.log'))[-1].read_text()
    assert ('without labels, so nothing is evaluated' in log) == (toy.toolbox != 'mmdet')


def test_without_asking_for_anything(toy):
    assert set(apis.test(toy.load(), toy.weights).values()) <= {-1}


def test_validation_is_refused_at_the_start(toy):
    if toy.toolbox == 'mmdet':
        assert toy.findings('val') == {'annotation file of a metric without an annotation': False}
        return
    with pytest.raises(UserError, match='val_dataloader.dataset: no labels are loaded'):
        train(toy.load('val'))
    assert toy.findings('val') == {NO_LABELS: True}
    assert toy.findings('test') == {NO_LABELS: False}


def test_some_with_labels_and_some_without(tmp_path):
    toy = Toy(tmp_path, 'mmseg')
    cfg = toy.load()
    cfg.test_dataloader.dataset = dict(
        type='ConcatDataset', datasets=[cfg.val_dataloader.dataset, cfg.test_dataloader.dataset])
    with pytest.raises(UserError, match=r'by test_dataloader.dataset.datasets.1, but by the other'):
        apis.test(cfg, toy.weights)


@pytest.mark.parametrize('toolbox', ['mmseg', 'mmdet', 'mmpretrain'])
def test_tta_on_several_data_sets(tmp_path, toolbox):
    toy = Toy(tmp_path, toolbox)
    cfg = load_config(toy.path, {'work_dir': str(tmp_path / 'run')})
    dataset = cfg.test_dataloader.dataset
    cfg.test_dataloader.dataset = dict(type='ConcatDataset', datasets=[
        dict(type='RepeatDataset', times=1, dataset=dataset), dataset.copy()])
    if toolbox == 'mmdet':
        cfg.test_evaluator = dict(type='MultiDatasetsEvaluator', dataset_prefixes=['a', 'b'],
                                  metrics=[cfg.test_evaluator] * 2)
    assert apis.test(cfg, toy.weights, tta=True)
