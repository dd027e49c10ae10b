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
