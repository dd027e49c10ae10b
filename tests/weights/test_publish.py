"""What training wrote, published, and read by the toolboxes' own functions and scripts."""

import hashlib
import importlib
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from mmqtvit import apis
from mmqtvit.apis import UserError, load_config
from mmqtvit.weights import read_checkpoint
from mmqtvit.weights.publish import publish_checkpoint, save_with_hash

from ..apis.test_runner import loaded, one_thread  # noqa: F401
from ..helpers.imagenet import ROOT, small, write_imagenet
from ..helpers.pose import write_pose_toy
from ..helpers.toy import write_toy
from ..tools.test_command_lines import status, tool

CLASSES = dict(mmseg=['sky', 'sea', 'land'], mmdet=['disc', 'box'],
               mmpretrain=[str(label) for label in range(12)])
META = dict(mmpretrain='_dataset_meta')
ITERATIONS = {'train_cfg.max_iters': 1, 'train_cfg.val_interval': 9,
              'default_hooks.checkpoint.interval': 1}


def write_config(folder, toolbox):
    if toolbox == 'mmpose':
        return write_pose_toy(folder)
    if toolbox != 'mmpretrain':
        return write_toy(folder, toolbox)
    write_imagenet(folder / 'imagenet')
    cfg = small(load_config(str(ROOT / 'configs/qtvit1_imagenet.py')), str(folder / 'imagenet'))
    cfg.train_cfg = dict(type='IterBasedTrainLoop', max_iters=1)
    cfg.param_scheduler, cfg.custom_hooks, cfg.train_dataloader.batch_size = None, [], 2
    cfg.default_hooks.checkpoint.by_epoch = False
    cfg.dump(folder / 'toy.py')
    return str(folder / 'toy.py')


class Published:
    """A training of one step: its config, its checkpoint and the published file."""

    def __init__(self, folder, toolbox):
        self.toolbox, self.config = toolbox, write_config(folder, toolbox)
        apis.train(loaded(self.config, folder, **ITERATIONS))
        self.trained = str(folder / 'run/iter_1.pth')
        tool('publish_model').main([self.trained, str(folder / 'published/toy.pth')])
        path, = (folder / 'published').iterdir()
        self.path, self.folder = str(path), folder

    def check(self, model, meta='dataset_meta'):
        """All weights are the trained ones, and the names are known."""
        expected = torch.load(self.trained, weights_only=False)['state_dict']
        assert model.state_dict().keys() == expected.keys()
        assert all(torch.equal(value, expected[key]) for key, value in model.state_dict().items())
        if self.toolbox != 'mmpose':
            assert list(getattr(model, meta)['classes']) == CLASSES[self.toolbox]


@pytest.fixture(scope='module', params=['mmseg', 'mmdet', 'mmpretrain', 'mmpose'])
def published(request, tmp_path_factory):
    pytest.importorskip(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('LOCAL_RANK', '0')
        return Published(tmp_path_factory.mktemp(request.param), request.param)


def function(published, name):
    return getattr(importlib.import_module(f'{published.toolbox}.apis'), name)


def test_holds_weights_and_names_and_the_hash_of_itself(published):
    content = torch.load(published.path, weights_only=True)
    assert content.keys() == {'meta', 'state_dict'}
    assert content['meta']['iter'] == 1 and 'default_scope' in content['meta']['cfg']
    assert Path(published.path).stat().st_size < Path(published.trained).stat().st_size
    assert Path(published.path).name.startswith('toy-')


def test_function(published):
    name = dict(mmdet='init_detector', mmpretrain='get_model').get(published.toolbox, 'init_model')
    model = function(published, name)(published.config, published.path, device='cpu')
    published.check(model, META.get(published.toolbox, 'dataset_meta'))


INFERENCERS = dict(mmdet='DetInferencer', mmseg='MMSegInferencer', mmpose='Pose2DInferencer',
                   mmpretrain='ImageClassificationInferencer')


def test_inferencer(published):
    more = dict(det_model='whole_image') if published.toolbox == 'mmpose' else {}
    inferencer = function(published, INFERENCERS[published.toolbox])(
        published.config, published.path, device='cpu', **more)
    published.check(inferencer.model, META.get(published.toolbox, 'dataset_meta'))
    result = inferencer(np.zeros((32, 32, 3), np.uint8))
    assert next(result) if published.toolbox == 'mmpose' else result


def test_detectors_inferencer_needs_no_config(tmp_path, monkeypatch):
    """mmengine builds the model from the config in the file."""
    from mmdet.apis import DetInferencer
    monkeypatch.setenv('LOCAL_RANK', '0')
    published = Published(tmp_path, 'mmdet')
    published.check(DetInferencer(weights=published.path, device='cpu').model)


def test_script_finds_what_this_package_finds(published, monkeypatch):
    package = importlib.import_module(published.toolbox)
    script = Path(package.__file__).parent / '.mim/tools/test.py'
    runs = []
    run = importlib.import_module('mmengine.runner').Runner.test
    monkeypatch.setattr('mmengine.runner.Runner.test',
                        lambda self: runs.append(run(self)) or runs[-1])
    work_dir = str(published.folder / 'test')
    monkeypatch.setattr(sys, 'argv', [
        str(script), published.config, published.path, '--work-dir', work_dir,
        '--cfg-options', 'test_dataloader.persistent_workers=False'])
    runpy.run_path(str(script), run_name='__main__')
    cfg = loaded(published.config, published.folder, work_dir=work_dir)
    metrics = apis.test(cfg, published.path, plain=True)
    assert metrics and metrics == pytest.approx(runs[0])


def test_numpy_of_the_record_becomes_plain(tmp_path):
    meta = dict(iter=np.int64(3), seed=1, dataset_meta=dict(
        sigmas=np.ones(2, np.float32), classes=('a', 'b'), swap={np.int64(0): [np.float64(1)]}))
    path = publish_checkpoint(dict(state_dict=dict(a=torch.ones(1)), meta=meta), tmp_path / 'a')
    assert torch.load(path, weights_only=True)['meta'] == dict(iter=3, dataset_meta=dict(
        sigmas=[1., 1.], classes=('a', 'b'), swap={0: [1.]}))


def test_help_and_mistakes(tmp_path, capsys):
    assert status('publish_model') == 2
    assert status('publish_model', '--help') == 0
    assert 'checkpoint that training wrote' in capsys.readouterr().out
    assert status('publish_model', tmp_path / 'a.pth', tmp_path / 'b') == 2
    assert 'a.pth is not there' in capsys.readouterr().err
    torch.save({'stem.weight': torch.ones(1)}, tmp_path / 'a.pth')
    assert status('publish_model', tmp_path / 'a.pth', tmp_path / 'b') == 2
    assert 'a.pth: a checkpoint that training wrote has state_dict and meta, this one has ' \
        'stem.weight' in capsys.readouterr().err
    torch.save(dict(state_dict={}, meta={}), tmp_path / 'a.pth')
    assert status('publish_model', tmp_path / 'a.pth', tmp_path / 'b.safetensors') == 2
    assert 'a .pth file is written' in capsys.readouterr().err


def test_says_that_no_classes_are_named(tmp_path, capsys):
    torch.save(dict(state_dict=dict(a=torch.ones(1)), meta=dict(iter=1)), tmp_path / 'a.pth')
    tool('publish_model').main([str(tmp_path / 'a.pth'), str(tmp_path / 'b')])
    assert 'names no classes' in capsys.readouterr().out
    assert read_checkpoint(str(next(tmp_path.glob('b-*.pth'))))['meta'] == dict(iter=1)


def test_hash_in_the_name(tmp_path):
    path = save_with_hash({'a': torch.zeros(1)}, tmp_path / 'new' / 'model.pth')
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert path.name == f'model-{digest[:8]}.pth'
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert torch.load(path, weights_only=True)['state_dict'].keys() == {'a'}


@pytest.mark.parametrize('name, saved', [
    ('v1.0.5', r'v1\.0\.5-\w{8}\.pth'), ('a.pt', r'a-\w{8}\.pth'), ('b.tmp', r'b\.tmp-\w{8}\.pth')])
def test_names(tmp_path, name, saved):
    (tmp_path / name).write_text('of the user')
    path = save_with_hash({'a': torch.zeros(1)}, tmp_path / name)
    assert re.fullmatch(saved, path.name) and (tmp_path / name).read_text() == 'of the user'


def test_what_cannot_be_written(tmp_path):
    (tmp_path / 'file').write_text('')
    for out, message in ((tmp_path / 'file/model.pth', 'cannot write'),
                         (tmp_path / 'model.safetensors', 'a .pth file is written')):
        with pytest.raises(UserError, match=message):
            save_with_hash({'a': torch.zeros(1)}, out)
