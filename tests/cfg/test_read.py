from pathlib import Path

import pytest
from mmengine import Config

from mmqtvit.apis import UserError, load_config
from mmqtvit.cfg.read import enable_amp, enable_auto_scale_lr

CONFIGS = Path(__file__).parents[2] / 'configs'


@pytest.fixture()
def config(tmp_path):
    path = tmp_path / 'tiny.py'
    path.write_text("model = dict(type='A', stages=[dict(depth=1), dict(depth=2)])\n"
                    "train_dataloader = dict(batch_size=2, dataset=dict(data_root='x'))\n"
                    "train_cfg = dict(max_iters=5)\n")
    return str(path)


def test_options_and_work_dir(config):
    cfg = load_config(config, {'model.stages.1.depth': 3, 'model.norm': 'BN', 'randomness.seed': 1},
                      launcher='pytorch')
    assert [stage.depth for stage in cfg.model.stages] == [1, 3]
    assert cfg.model.norm == 'BN'
    assert cfg.randomness.seed == 1
    assert cfg.launcher == 'pytorch'
    assert cfg.work_dir == 'work_dirs/tiny'
    assert load_config(config, work_dir='elsewhere').work_dir == 'elsewhere'
    assert load_config(config, {'work_dir': 'chosen'}).work_dir == 'chosen'


def test_config_of_a_toolbox():
    cfg = load_config('mmdet::retinanet/retinanet_r50_fpn_1x_coco.py')
    assert cfg.model.type == 'RetinaNet'
    assert cfg.work_dir == 'work_dirs/retinanet_r50_fpn_1x_coco'


def test_missing_config_names_near_ones():
    with pytest.raises(UserError, match=r'upernet_qtvit1_ade\.py not found.*upernet_qtvit1_ade20k'):
        load_config(str(CONFIGS / 'upernet_qtvit1_ade.py'))
    with pytest.raises(UserError, match='nowhere/a.py not found$'):
        load_config('nowhere/a.py')


@pytest.mark.parametrize('name, text, match', [
    ('a.py', 'x = (1,\n', 'line 1|SyntaxError'),
    ('a.py', 'x = 1\ny = undefined\n', "line 2: NameError: name 'undefined'"),
    ('a.py', "_base_ = './missing.py'\n", 'missing.py'),
    ('a.py', "_base_ = 'mmseg::missing/missing.py'\n", 'missing.py'),
    ('a.py', "custom_imports = dict(imports=['no_such_module'])\n", 'no_such_module'),
    ('a.pth', 'PK', 'Only py/yml/yaml/json'),
])
def test_broken_config(tmp_path, name, text, match):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(UserError, match=match) as error:
        load_config(str(path))
    assert str(path) in str(error.value)


@pytest.mark.parametrize('key, match', [
    ('model.stages.7.depth', r'model\.stages\.7\.depth=1 does not fit'),
    ('model.stages.last.depth', 'last'),
    ('model.type.name', 'model.type.name=1 does not fit'),
    ('trian_cfg.max_iters', 'is train_cfg.max_iters meant'),
    ('train_cfg.max_iter', 'is train_cfg.max_iters meant'),
    ('train_dataloader.datset.data_root', 'is train_dataloader.dataset.data_root meant'),
    ('custom_hook', 'is custom_hooks meant'),
])
def test_option_without_a_place(config, key, match):
    with pytest.raises(UserError, match=match):
        load_config(config, {key: 1})


@pytest.fixture()
def with_variables(tmp_path):
    path = tmp_path / 'variables.py'
    path.write_text("""
max_iters = 5
data_root = 'data/x/'
pipeline = [dict(type='Load'), dict(type='Resize', scale=(64, 32))]
last = 3
train_cfg = dict(max_iters=max_iters)
param_scheduler = [dict(type='PolyLR', end=max_iters - last)]
train_dataloader = dict(dataset=dict(data_root=data_root, pipeline=pipeline))
val_evaluator = dict(type='M', ann_file=data_root + 'val.json')
model = dict(type='A', test_cfg=dict(mode='whole'))
compile = dict(backend='eager')
""")
    return str(path)


@pytest.mark.parametrize('key, value, places', [
    ('max_iters', 2, 'nothing reads max_iters.*is read: train_cfg.max_iters$'),
    ('data_root', '/x', 'is read: .*train_dataloader.dataset.data_root, val_evaluator.ann_file$'),
    ('pipeline.1.scale', (8, 8), 'is read: train_dataloader.dataset.pipeline.1.scale$'),
    ('last', 1, 'nothing reads last, a variable of the config file. Read are .*train_cfg'),
    ('scale', 1, 'nothing reads an entry scale.*is read: train_dataloader.*1.scale$'),
    ('custom_imports.imports', ['a'], 'nothing reads an entry custom_imports')])
def test_variables_that_nothing_reads(with_variables, key, value, places):
    with pytest.raises(UserError, match=places):
        load_config(with_variables, {key: value})


def test_variables_of_an_inherited_file(with_variables, tmp_path, capsys):
    leaf = tmp_path / 'leaf.py'
    leaf.write_text("_base_ = './variables.py'\nmax_iters = 2\ndata_root = 'y'\n"
                    "train_dataloader = dict(dataset=dict(data_root=data_root))\n")
    assert load_config(str(leaf)).train_cfg.max_iters == 5
    assert capsys.readouterr().err == (
        f'warning: {leaf} sets max_iters=2, which nothing reads; train_cfg.max_iters is 5\n')
    load_config(with_variables)
    assert capsys.readouterr().err == ''


@pytest.mark.parametrize('key, value', [
    ('model.test_cfg', 'whole'), ('model', 1), ('param_scheduler', 'PolyLR'),
    ('param_scheduler.0', 'PolyLR'), ('train_dataloader.dataset.pipeline', 'Load')])
def test_text_in_place_of_a_dict(with_variables, key, value):
    with pytest.raises(UserError, match=f'{key}={value}: {key} is a (dict with|list of . dicts)'):
        load_config(with_variables, {key: value})


def test_dicts_in_place_of_dicts(with_variables):
    options = {'model.test_cfg': dict(stride=2), 'param_scheduler': None, 'compile': False,
               'train_dataloader.dataset.pipeline': [dict(type='Load')]}
    cfg = load_config(with_variables, options)
    assert cfg.model.test_cfg == dict(mode='whole', stride=2)
    assert cfg.param_scheduler is None and cfg.compile is False
    assert cfg.train_dataloader.dataset.pipeline == [dict(type='Load')]


def test_amp():
    cfg = Config(dict(optim_wrapper=dict(type='OptimWrapper')))
    enable_amp(cfg)
    assert cfg.optim_wrapper == dict(type='AmpOptimWrapper', loss_scale='dynamic')
    cfg.optim_wrapper.loss_scale = 512.
    enable_amp(cfg)
    assert cfg.optim_wrapper.loss_scale == 512.
    cfg.optim_wrapper.type = 'DeepSpeedOptimWrapper'
    with pytest.raises(UserError, match='DeepSpeedOptimWrapper'):
        enable_amp(cfg)


def test_auto_scale_lr():
    cfg = Config(dict(auto_scale_lr=dict(enable=False, base_batch_size=16)))
    enable_auto_scale_lr(cfg)
    assert cfg.auto_scale_lr.enable
    with pytest.raises(UserError, match='auto_scale_lr.base_batch_size=16'):
        enable_auto_scale_lr(Config())
