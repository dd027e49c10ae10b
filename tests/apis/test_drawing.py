"""Pictures of predictions: the toolboxes' own, in less time."""

import json
import time
from importlib import import_module

import numpy as np
import pytest
import torch
from mmengine.structures import InstanceData, PixelData

from mmqtvit.apis import load_config
from mmqtvit.apis.inference import Predictor, predict
from mmqtvit.demo import write_dataset
from mmqtvit.toolboxes import get_toolbox
from mmqtvit.toolboxes.mmseg import middle_of_widest_row

from .test_inference import checkpoint  # noqa: F401


@pytest.fixture(scope='module')
def scenes(tmp_path_factory):
    folder = tmp_path_factory.mktemp('scenes')
    write_dataset(folder, train=1, val=8)
    return sorted((folder / 'ade20k/images/validation').iterdir())


CLASSES, PALETTE = ('sky', 'sea', 'land'), [(10, 200, 30), (200, 20, 60), (90, 90, 250)]


def segments(rng, height, width):
    from mmseg.structures import SegDataSample
    labels = torch.from_numpy(rng.integers(0, 3, (1, -(-height // 8), -(-width // 8))))
    labels = labels.repeat_interleave(8, 1).repeat_interleave(8, 2)[:, :height, :width]
    return SegDataSample(pred_sem_seg=PixelData(data=labels))


def instances(rng, height, width):
    from mmdet.structures import DetDataSample
    corners = torch.from_numpy(rng.uniform(0, 1, (3, 4))).float()
    boxes = torch.cat([corners[:, :2] / 2, corners[:, :2] / 2 + corners[:, 2:] / 2], dim=1)
    masks = torch.zeros(3, height, width, dtype=torch.bool)
    masks[:, height // 4:height // 2, width // 4:] = True
    return DetDataSample(pred_instances=InstanceData(
        bboxes=boxes * torch.tensor([width, height, width, height]), masks=masks,
        labels=torch.arange(3), scores=torch.tensor([.9, .8, .7])))


def masks_alone(rng, height, width):
    sample = instances(rng, height, width)
    del sample.pred_instances.bboxes
    return sample


def scores(rng, height, width):
    from mmpretrain.structures import DataSample
    return DataSample().set_pred_score(torch.tensor([.1, .7, .2])).set_pred_label(1)


def pictures(toolbox, kind, sample_of, hasten):
    """What a visualiser saves for images of several sizes, one after the other."""
    visualizer = getattr(import_module(f'{toolbox}.visualization'), kind)()
    visualizer.dataset_meta = dict(classes=CLASSES, palette=PALETTE)
    saved = []
    visualizer.add_image = lambda name, picture, step=0: saved.append(picture.copy())
    if hasten:
        get_toolbox(toolbox).hasten_drawing(visualizer)
    rng = np.random.default_rng(0)
    for size in ((40, 56), (200, 120), (64, 64), (30, 300)):
        np.random.seed(0)  # mmdet shifts the colours of masks by chance
        draw = visualizer.visualize_cls if toolbox == 'mmpretrain' else visualizer.add_datasample
        draw(name='picture', image=rng.integers(0, 255, (*size, 3), np.uint8),
             data_sample=sample_of(rng, *size))
        if hasten and toolbox == 'mmseg':
            assert np.array_equal(visualizer.get_image(), saved[-1])
    return saved


@pytest.mark.parametrize('toolbox, kind, sample_of', [
    ('mmseg', 'SegLocalVisualizer', segments), ('mmdet', 'DetLocalVisualizer', instances),
    ('mmdet', 'DetLocalVisualizer', masks_alone), ('mmpretrain', 'UniversalVisualizer', scores)])
def test_the_same_pictures(toolbox, kind, sample_of):
    expected, quick = (pictures(toolbox, kind, sample_of, hasten) for hasten in (False, True))
    assert len(quick) == 4
    assert all(map(np.array_equal, expected, quick))
    assert len({picture.tobytes() for picture in quick}) == 4


def test_the_same_places_of_names():
    from mmseg.visualization import SegLocalVisualizer
    rng = np.random.default_rng(0)
    for share in (0.01, 0.3, 0.9):
        mask = (rng.uniform(size=(30, 40)) < share).astype(np.uint8)
        mask[7, 3] = 1
        expected = SegLocalVisualizer._get_center_loc(None, mask)
        assert np.array_equal(middle_of_widest_row(mask), expected)


def as_after_training(sample):
    """What random weights predict, exchanged for what there is to draw in a scene of the demo."""
    if 'pred_sem_seg' in sample:
        height, width = sample.pred_sem_seg.shape
        rows, columns = torch.arange(height)[:, None] // 16, torch.arange(width) // 16
        sample.pred_sem_seg.data = ((rows + columns) % 10)[None]
    if 'pred_instances' in sample:
        corners = torch.arange(4.)[:, None] * 16
        sample.pred_instances = InstanceData(
            bboxes=torch.cat([corners, corners, corners + 50, corners + 40], dim=1),
            labels=torch.arange(4), scores=torch.full((4, ), 0.9))
    return sample


@pytest.mark.parametrize('name, drawn', [
    ('upernet_qtvit1_demo', 10), ('retinanet_qtvit1_demo', 4), ('qtvit1_imagenet', 5)])
def test_time_beside_the_models(name, drawn, root, tmp_path, scenes, monkeypatch):
    """Reading, drawing and writing take less than half of the model's time."""
    path = str(root / f'configs/{name}.py')
    weights = checkpoint(tmp_path, load_config(path))
    predictor = Predictor(load_config(path), weights, 'cpu')
    inside, infer = [], predictor.toolbox.infer

    def timed(*args):
        start = time.process_time()
        sample = infer(*args)
        inside.append(time.process_time() - start)
        return as_after_training(sample)

    monkeypatch.setattr(predictor.toolbox, 'infer', timed)
    shares = []
    for turn in range(6):
        inside.clear()
        start = time.process_time()
        predict(predictor, scenes, tmp_path / f'out{turn}')
        shares.append((time.process_time() - start) / sum(inside))
    record = json.loads((tmp_path / f'out0/{scenes[0].stem}.json').read_text())
    assert len(record.get('instances') or record['classes']) == drawn
    assert len(inside) == len(scenes)
    assert min(shares[1:]) < 1.5  # the first turn warms up
