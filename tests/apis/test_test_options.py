import pytest
from mmengine import Config

from mmqtvit.apis import UserError
from mmqtvit.apis.test_options import augment_at_test_time, draw_predictions
from mmqtvit.toolboxes import get_toolbox


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
