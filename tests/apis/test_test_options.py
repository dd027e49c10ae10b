import sys

import pytest
from mmengine import Config

from mmqtvit import apis
from mmqtvit.apis import UserError, load_config, train
from mmqtvit.apis.inference import Predictor, predict
from mmqtvit.apis.test_options import augment_at_test_time, draw_predictions
from mmqtvit.toolboxes import get_toolbox

from ..helpers.toy import write_toy
from .test_inference import checkpoint


def config(toolbox, **entries):
    pack = dict(type='Pack', meta_keys=('flip', ))
    dataset = dict(pipeline=[dict(type='Load'), pack])
    return Config(dict(
        default_scope=toolbox, model=dict(type='Model'), visualizer=dict(type='V'),
        default_hooks=dict(visualization=dict(type='Hook')),
        test_dataloader=dict(dataset=dict(type='RepeatDataset', dataset=dataset)),
        test_evaluator=dict(type='Metric'), **entries))


def test_pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cfg = config('mmseg')
    draw_predictions(cfg, 'pictures', show=False, wait_time=2)
    assert cfg.visualizer.save_dir == str(tmp_path / 'pictures')
    assert cfg.default_hooks.visualization == dict(
        type='Hook', draw=True, interval=1, show=False, wait_time=2)
    cfg = config('mmdet')
    draw_predictions(cfg, 'pictures', show=True, wait_time=0.5)
    assert cfg.default_hooks.visualization == dict(
        type='Hook', draw=True, show=True, wait_time=0.5, test_out_dir=str(tmp_path / 'pictures'))
    cfg = config('mmpretrain')
    draw_predictions(cfg, None, show=True, wait_time=2)
    assert cfg.default_hooks.visualization.enable
    assert cfg.default_hooks.visualization.out_dir is None


def test_interval_of_the_config_counts():
    cfg = config('mmseg')
    cfg.default_hooks.visualization.interval = 7
    draw_predictions(cfg, 'pictures', show=False, wait_time=2)
    assert cfg.default_hooks.visualization.interval == 7


def test_no_hook():
    cfg = config('mmseg')
    del cfg.default_hooks['visualization']
    with pytest.raises(UserError, match='default_hooks.visualization'):
        draw_predictions(cfg, 'pictures', show=False, wait_time=2)


@pytest.mark.parametrize('toolbox, model', [('mmdet', 'DetTTAModel'),
                                            ('mmpretrain', 'AverageClsScoreTTA')])
def test_tta_by_flipping(toolbox, model):
    cfg = config(toolbox)
    augment_at_test_time(cfg)
    assert cfg.model.type == model
    assert cfg.model.module.type == 'Model'
    load, augment = cfg.test_dataloader.dataset.dataset.pipeline
    assert load.type == 'Load'
    assert [flip.prob for flip in augment.transforms[0]] == [0., 1.]
    assert 'flip' in augment.transforms[1][0].meta_keys


@pytest.mark.parametrize('toolbox', ['mmdet', 'mmseg', 'mmpretrain'])
def test_tta_of_the_config(toolbox):
    cfg = config(toolbox, tta_model=dict(type='Own'), tta_pipeline=[dict(type='OwnStep')])
    augment_at_test_time(cfg)
    assert cfg.model == dict(type='Own', module=dict(type='Model'))
    assert cfg.test_dataloader.dataset.dataset.pipeline == [dict(type='OwnStep')]


@pytest.mark.parametrize('own', [True, False])
def test_tta_of_several_data_sets(own):
    """Each keeps its own steps before the flip."""
    cfg = config('mmdet', **(dict(tta_pipeline=[dict(type='OwnStep')]) if own else {}))
    wrapped, pack = cfg.test_dataloader.dataset, dict(type='Pack')
    cfg.test_dataloader.dataset = dict(type='ConcatDataset', datasets=[
        wrapped, dict(type='Data', pipeline=[dict(type='Other'), pack])])
    augment_at_test_time(cfg)
    first, second = cfg.test_dataloader.dataset.datasets
    starts = [first.dataset.pipeline[0].type, second.pipeline[0].type]
    assert starts == (['OwnStep', 'OwnStep'] if own else ['Load', 'Other'])
    assert cfg.model.type == 'DetTTAModel' and 'pipeline' not in cfg.test_dataloader.dataset


def test_tta_loads_no_labels_where_there_are_none():
    cfg = config('mmseg', tta_model=dict(type='Own'), tta_pipeline=[
        dict(type='LoadImageFromFile'),
        dict(type='TestTimeAug', transforms=[
            [dict(type='RandomFlip', prob=0.), dict(type='RandomFlip', prob=1.)],
            [dict(type='LoadAnnotations')], [dict(type='PackSegInputs')]])])
    dataset = cfg.test_dataloader.dataset.dataset
    dataset.pipeline = [dict(type='LoadImageFromFile'), dict(type='PackSegInputs')]
    augment_at_test_time(cfg)
    flips, pack = dataset.pipeline[1].transforms
    assert [step.type for step in (*flips, *pack)] == ['RandomFlip', 'RandomFlip', 'PackSegInputs']
    assert len(cfg.tta_pipeline[1].transforms) == 3


def test_tta_that_cannot_be():
    with pytest.raises(UserError, match='tta_model and tta_pipeline'):
        augment_at_test_time(config('mmseg'))
    cfg = config('mmdet')
    cfg.model.roi_head = dict(mask_head=dict(type='Mask'))
    with pytest.raises(UserError, match='masks'):
        augment_at_test_time(cfg)


def test_predictions():
    cfg = config('mmseg')
    get_toolbox(cfg.default_scope).keep_predictions(cfg, 'maps')
    assert cfg.test_evaluator == [dict(type='Metric', output_dir='maps', keep_results=True)]
    for toolbox, dump in (('mmdet', 'DumpDetResults'), ('mmpretrain', 'DumpResults')):
        cfg = config(toolbox)
        get_toolbox(cfg.default_scope).keep_predictions(cfg, 'a.pkl')
        assert cfg.test_evaluator == [
            dict(type='Metric'), dict(type=dump, out_file_path='a.pkl')]
        with pytest.raises(UserError, match='.pkl'):
            get_toolbox(cfg.default_scope).keep_predictions(cfg, 'a.json')


class TestVisualizer:
    """Configs without one, with mmengine's, and with backends that are not there."""

    @pytest.fixture(params=['mmseg', 'mmdet', 'mmpretrain'])
    def toy(self, request, tmp_path):
        path = write_toy(tmp_path, request.param)
        weights = checkpoint(tmp_path, load_config(path))
        options = {'work_dir': str(tmp_path / 'run'), 'train_cfg.max_iters': 1}
        return lambda **more: load_config(path, {**options, **more}), weights

    @pytest.mark.parametrize('options', [
        {'visualizer': None}, {'visualizer': dict(_delete_=True, type='Visualizer')},
        {'visualizer.vis_backends': []}, {'visualizer.vis_backends': None}])
    def test_pictures_all_the_same(self, toy, options, tmp_path):
        load, weights = toy
        assert apis.test(load(**options), weights, show_dir=str(tmp_path / 'shown'))
        shown = [path for path in (tmp_path / 'shown').rglob('*.*')
                 if path.suffix in ('.jpg', '.png')]
        assert len(shown) == 4
        predictor = Predictor(load(**options), weights, 'cpu')
        images = sorted((tmp_path / 'data/images').iterdir())
        assert predict(predictor, images, tmp_path / 'out') == ({}, {})

    def test_backend_that_is_not_installed(self, toy, monkeypatch):
        load, weights = toy
        monkeypatch.setitem(sys.modules, 'wandb', None)  # as if it were not
        options = {'visualizer.vis_backends': [dict(type='WandbVisBackend')]}
        said = 'cannot build the runner: Please run "pip install wandb" to install wandb$'
        with pytest.raises(UserError, match=said):
            train(load(**options))
        with pytest.raises(UserError, match=said):
            apis.test(load(**options), weights)
        assert Predictor(load(**options), weights, 'cpu')  # which sends nothing there

    def test_backend_that_there_is_none_of(self, toy):
        load, weights = toy
        with pytest.raises(UserError, match='cannot build NoBackend: NoBackend is not in the'):
            apis.test(load(**{'visualizer.vis_backends': [dict(type='NoBackend')]}), weights)
