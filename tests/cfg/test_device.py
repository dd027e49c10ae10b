import pytest
from mmengine import Config
from torch.nn import SyncBatchNorm

from mmqtvit.apis import UserError, adapt_to_device
from mmqtvit.cfg import device


@pytest.fixture(autouse=True)
def cpu(monkeypatch):
    monkeypatch.setattr(device, 'get_device', lambda: 'cpu')
    monkeypatch.delenv('RANK', raising=False)


def config(**entries):
    return Config(dict(launcher='none', optim_wrapper=dict(type='OptimWrapper'), **entries))


def test_sync_bn_everywhere():
    norm = dict(type='SyncBN', requires_grad=True)
    cfg = config(
        norm_cfg=norm,
        model=dict(
            backbone=dict(norm_cfg=norm, stages=(dict(norm_cfg=norm), [dict(norm_cfg=norm)])),
            heads=[dict(norm_cfg=dict(type='mmcv.MMSyncBN')), dict(norm_cfg=dict(type='GN'))],
            neck=dict(norm_cfg=dict(type=SyncBatchNorm))),
        sync_bn='torch')
    notes = adapt_to_device(cfg)
    assert 'Sync' not in str(cfg._cfg_dict)
    assert str(cfg._cfg_dict).count("'type': 'BN'") == 6
    assert cfg.model.backbone.stages[0].norm_cfg == dict(type='BN', requires_grad=True)
    assert isinstance(cfg.model.backbone.stages, tuple)
    assert cfg.model.heads[1].norm_cfg.type == 'GN'
    assert cfg.sync_bn is None
    assert notes == ['No GPU: SyncBN became BN in 6 places of the config']


def test_nothing_to_do():
    cfg = config(model=dict(norm_cfg=dict(type='BN')))
    before = str(cfg)
    assert adapt_to_device(cfg) == []
    assert str(cfg) == before


def test_with_a_gpu_nothing_changes(monkeypatch):
    monkeypatch.setattr(device, 'get_device', lambda: 'cuda')
    cfg = Config(dict(launcher='none', optim_wrapper=dict(type='AmpOptimWrapper'),
                      model=dict(norm_cfg=dict(type='SyncBN'))))
    before = str(cfg)
    assert adapt_to_device(cfg) == []
    assert str(cfg) == before


@pytest.mark.parametrize('kind', ['AmpOptimWrapper', 'mmengine.AmpOptimWrapper'])
def test_mixed_precision_needs_a_gpu(kind):
    cfg = Config(dict(launcher='none', optim_wrapper=dict(type=kind)))
    with pytest.raises(UserError, match='needs a GPU.*Leave out --amp'):
        adapt_to_device(cfg)
    assert adapt_to_device(cfg, training=False) == []


def test_gloo(monkeypatch):
    monkeypatch.setenv('RANK', '0')
    cfg = config(model=dict(norm_cfg=dict(type='SyncBN')), find_unused_parameters=True,
                 env_cfg=dict(dist_cfg=dict(backend='nccl')), custom_hooks=[dict(type='EMAHook')])
    cfg.launcher = 'pytorch'
    notes = adapt_to_device(cfg)
    assert cfg.env_cfg.dist_cfg.backend == 'gloo'
    assert cfg.model_wrapper_cfg.device_ids is None
    assert cfg.model_wrapper_cfg.find_unused_parameters
    assert [hook.type for hook in cfg.custom_hooks] == ['EMAHook', 'SyncBuffersHook']
    assert len(notes) == 2


@pytest.mark.parametrize('launcher, match', [('pytorch', 'torchrun'), ('slurm', 'only --launcher'),
                                             ('mpi', 'only --launcher')])
def test_launcher_that_cannot_be(launcher, match):
    cfg = config()
    cfg.launcher = launcher
    with pytest.raises(UserError, match=match):
        adapt_to_device(cfg)
