"""Every adapter answers for its toolbox, and another is added from outside."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from mmengine import Config

from mmqtvit.errors import UserError
from mmqtvit.toolboxes import base, get_toolbox, names, register, require_toolbox

from ..apis.test_images import written

PARTS = {
    'mmdet': dict(type='RetinaNet', backbone=dict(), bbox_head=dict(num_classes=2)),
    'mmseg': dict(type='EncoderDecoder', backbone=dict(), decode_head=dict(num_classes=3)),
    'mmpretrain': dict(type='ImageClassifier', backbone=dict(), head=dict(num_classes=4)),
}


def test_found_by_being_in_the_folder():
    assert set(names()) >= set(PARTS)


def test_importing_them_loads_no_toolbox():
    code = ('import sys, mmqtvit, mmqtvit.toolboxes; '
            'print([name for name in mmqtvit.toolboxes.names() if name in sys.modules])')
    run = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == '[]'


@pytest.mark.parametrize('name', PARTS)
def test_batches_are_the_same_each_time(name):
    first, second = (get_toolbox(name).make_batch(PARTS[name], (48, 64), 3) for _ in range(2))
    assert len(first['data_samples']) == len(first['inputs']) == 3
    for image, same in zip(first['inputs'], second['inputs']):
        assert image.shape == (3, 48, 64) and image.dtype == torch.uint8
        assert torch.equal(image, same)
    assert first['data_samples'][0].img_shape == (48, 64)


def test_truth_is_of_the_heads_classes():
    detection, = get_toolbox('mmdet').make_samples(PARTS['mmdet'], (48, 64), 1)
    assert set(detection.gt_instances.labels.tolist()) == {0, 1}
    assert detection.gt_instances.masks.masks.any((1, 2)).all()
    segmentation, = get_toolbox('mmseg').make_samples(PARTS['mmseg'], (48, 64), 1)
    assert segmentation.gt_sem_seg.data.unique().tolist() == [0, 1, 2]
    classification = get_toolbox('mmpretrain').make_samples(PARTS['mmpretrain'], (48, 64), 6)
    assert [sample.gt_label.item() for sample in classification] == [0, 1, 2, 3, 0, 1]


TOY = Path(__file__).with_name('toy')


@pytest.fixture()
def toy(monkeypatch):
    monkeypatch.setattr(base, '_REGISTERED', dict(base._REGISTERED))
    monkeypatch.setitem(sys.modules, 'mmtoy', sys)  # any module: it is installed
    from .toy.adapter import Toy
    register(Toy)
    return get_toolbox('mmtoy')


def test_added_from_outside(toy):
    cfg = Config(dict(default_scope='mmtoy', model=dict(head=dict(num_classes=7))))
    assert require_toolbox(cfg) is toy
    assert toy.image_size(cfg) == (64, 96)
    assert toy.head_classes(cfg) == {'model.head.num_classes': 7}
    batch = toy.make_batch(dict(backbone=dict(in_channels=4)), (8, 16), 3)
    assert [image.shape for image in batch['inputs']] == [(4, 8, 16)] * 3
    assert batch['data_samples'] == [dict(size=(8, 16))] * 3


def test_swapped_as_the_others_are(toy):
    from mmqtvit.swap import SwapRefused, swap_backbone
    backbone = dict(type='mmqtvit.EfficientViT', arch='b0', out_indices=(3, ))
    cfg = Config(dict(default_scope='mmtoy', model=dict(
        type='mmpretrain.ImageClassifier', backbone=backbone,
        head=dict(type='mmpretrain.LinearClsHead', num_classes=2, in_channels=128))))
    swapped = swap_backbone(cfg, 'qtvit1')
    assert swapped.model.backbone.type == 'mmqtvit.QTViT'
    assert swapped.model.head.in_channels == 256
    cfg.model.head.type = 'BoundHead'
    with pytest.raises(SwapRefused, match='BoundHead reads the weather'):
        swap_backbone(cfg, 'qtvit1')


def test_one_file_adds_a_toolbox(copied_package, tmp_path, root):
    """The package as it is with adapter.py; the toolbox itself lies beside commands.py."""
    shutil.copy(TOY / 'adapter.py', copied_package / 'mmqtvit/toolboxes/mmtoy.py')
    written(tmp_path / 'photo.png')
    result = subprocess.run(
        [sys.executable, TOY / 'commands.py', root / 'tools', 'photo.png'], cwd=tmp_path,
        env=dict(os.environ, PYTHONPATH=str(copied_package)), capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert 'checked at 64×96: predicts, and takes a loss step' in result.stdout
    assert Config.fromfile(tmp_path / 'leaf.py').model.head.in_channels == 256
    record = json.loads((tmp_path / 'out/photo.json').read_text())
    assert record['name'] in ('light', 'dark') and 0.5 <= record['score'] <= 1


def test_says_what_it_cannot_do(toy):
    with pytest.raises(UserError, match='mmtoy has no default'):
        toy.augment_at_test_time(Config(), [])
    with pytest.raises(UserError, match=r'\.pkl'):
        toy.keep_predictions(Config(dict(test_evaluator=dict(type='Any'))), 'a.json')
