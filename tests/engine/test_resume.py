"""Going on with a training: from what, and with whose schedule."""

import pytest
import torch

from mmqtvit.apis import UserError, train
from mmqtvit.engine.resume import check_resumable

from ..apis.test_runner import last_log, loaded, one_thread  # noqa: F401
from ..helpers.toy import write_toy
from ..tools.test_command_lines import status

LONGER = {'train_cfg.max_iters': 6, 'train_cfg.val_interval': 9}
SCHEDULE = {'param_scheduler.0.end': 6}
WARM = [dict(type='LinearLR', start_factor=0.1, begin=0, end=3, by_epoch=False),
        dict(type='CosineAnnealingLR', T_max=3, begin=3, end=6, by_epoch=False, eta_min=1e-4)]




@pytest.fixture(scope='module')
def first(tmp_path_factory):
    """A training of four iterations: its config and folder."""
    folder = tmp_path_factory.mktemp('first')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('LOCAL_RANK', '0')
        path = write_toy(folder)
        trained(path, folder)
    return path, folder / 'run'


@pytest.fixture(scope='module')
def whole(first):
    """The rates of a training of six iterations that never stopped."""
    path, folder = first
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('LOCAL_RANK', '0')
        return rates(trained(path, folder.parent, work_dir=str(folder.parent / 'whole'), **LONGER,
                             **SCHEDULE))


@pytest.fixture
def path(first):
    return first[0]


@pytest.fixture
def source(first):
    return str(first[1] / 'iter_4.pth')


@pytest.fixture
def earlier(first):
    return str(first[1] / 'iter_2.pth')


def trained(path, folder, **options):
    """Train and return the last checkpoint."""
    cfg = loaded(path, folder, **{'train_cfg.val_interval': 9, **options})
    train(cfg)
    return f'{cfg.work_dir}/iter_{cfg.train_cfg.max_iters}.pth'


def rates(path):
    checkpoint = torch.load(path, weights_only=False)
    return list(checkpoint['message_hub']['log_scalars']['train/lr'].data[0])


def resumed(path, folder, source, new_schedule=False, **options):
    """Go on to six iterations; return the rates and the log."""
    options = {**LONGER, 'work_dir': str(folder / f'new_{new_schedule}'), **options}
    train(loaded(path, folder, **options), resume=source, new_schedule=new_schedule)
    log, = (folder / f'new_{new_schedule}').glob('*/*.log')
    return rates(folder / f'new_{new_schedule}/iter_6.pth'), log.read_text()


@pytest.mark.parametrize('runner', [{}, {'runner_type': 'FlexibleRunner'}])
def test_longer_schedule(tmp_path, path, source, whole, runner):
    old, log = resumed(path, tmp_path, source, **SCHEDULE, **runner)
    assert old[4:] == [0., 0.]
    assert ('goes on with the settings of the checkpoint, not of the config: '
            'param_scheduler.0.end is 4, not 6; param_scheduler.0.total_iters is 3, not 5. '
            '--new-schedule') in log
    assert 'the learning rate stays 0;' in log
    new, log = resumed(path, tmp_path, source, True, **SCHEDULE, **runner)
    assert new[4:] == pytest.approx(whole[4:], rel=1e-6) and whole[4] > 0
    assert 'not of the config' not in log and 'stays' not in log


def test_longer_training_with_the_old_schedule(tmp_path, path, source):
    _, log = resumed(path, tmp_path, source)
    assert 'All schedules have ended, so the learning rate stays 0; ' in log
    assert 'not of the config' not in log


def test_the_same_schedule_is_worth_no_word(tmp_path, path, earlier):
    train(loaded(path, tmp_path), resume=earlier)
    assert 'iter_2' in last_log(tmp_path)
    assert 'not of the config' not in last_log(tmp_path) and 'stays' not in last_log(tmp_path)


def test_settings_of_the_optimiser(tmp_path, path, earlier):
    more = {'optim_wrapper.optimizer.lr': 0.02, 'optim_wrapper.optimizer.momentum': 0.5}
    _, log = resumed(path, tmp_path, earlier, **more)
    assert 'lr is 0.01, not 0.02' in log and 'momentum is 0.9, not 0.5' in log
    new, _ = resumed(path, tmp_path, earlier, True, **more)
    assert new[2] == pytest.approx(2 * rates(earlier.replace('_2', '_4'))[2])
    group, = torch.load(tmp_path / 'new_True/iter_6.pth', weights_only=False)['optimizer'][
        'param_groups']
    assert group['momentum'] == 0.5 and group['initial_lr'] == 0.02


def test_groups_of_parameters(tmp_path, path, earlier):
    with pytest.raises(UserError, match=r'another optimiser.*1 groups of parameters there and \d+'):
        resumed(path, tmp_path, earlier,
                **{'optim_wrapper.paramwise_cfg.custom_keys.backbone.lr_mult': 0.1})


def test_schedules_of_other_kinds(tmp_path, path):
    more = {**LONGER, 'param_scheduler': WARM,
            'optim_wrapper.paramwise_cfg': dict(custom_keys=dict(backbone=dict(lr_mult=0.1)))}
    source = trained(path, tmp_path, **{**more, 'train_cfg.max_iters': 4,
                                        'param_scheduler': [dict(type='ConstantLR')]})
    with pytest.raises(UserError, match='schedules of .*iter_4.pth are of other kinds.*--new'):
        resumed(path, tmp_path, source, **more)
    new, _ = resumed(path, tmp_path, source, True, **more)
    whole = rates(trained(path, tmp_path, work_dir=str(tmp_path / 'whole'), **more))
    assert new[4:] == pytest.approx(whole[4:], rel=1e-6)


def test_schedules_that_were_not_saved_are_at_the_place_reached(tmp_path, path, earlier, whole):
    checkpoint = torch.load(earlier, weights_only=False)
    del checkpoint['param_schedulers']
    torch.save(checkpoint, tmp_path / 'a.pth')
    old, _ = resumed(path, tmp_path, str(tmp_path / 'a.pth'), **SCHEDULE)
    assert old[2:] == pytest.approx(whole[2:])


def test_steps_of_epochs(tmp_path):
    from mmengine.optim import LinearLR, MultiStepLR, OptimWrapper

    from mmqtvit.engine.resume import fast_forward

    def build():
        wrapper = OptimWrapper(torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.))
        return wrapper, [LinearLR(wrapper, 0.1, by_epoch=False, end=5),
                         MultiStepLR(wrapper, [2, 3], by_epoch=True)]

    wrapper, schedulers = build()
    for index in range(1, 11):  # of epochs of three iterations
        schedulers[0].step()
        if index % 3 == 0:
            schedulers[1].step()
    other, new = build()
    fast_forward(new, dict(epoch=3, iter=10))
    assert [each.last_step for each in new] == [each.last_step for each in schedulers]
    assert other.param_groups[0]['lr'] == pytest.approx(wrapper.param_groups[0]['lr'])


def test_other_classes(tmp_path, path, earlier):
    with pytest.raises(UserError, match=r'iter_2\.pth is of another model.*decode_head\.conv_seg\.'
                       r'weight is \(3, 8, 1, 1\) in it and \(5, 8, 1, 1\) in the config; '
                       r'.*load_from=.*iter_2.pth'):
        train(loaded(path, tmp_path, **{'model.decode_head.num_classes': 5}), resume=earlier)


@pytest.mark.parametrize('new', [False, True])
def test_another_optimiser(tmp_path, path, earlier, new):
    adam = {'optim_wrapper.optimizer': dict(_delete_=True, type='AdamW', lr=0.1)}
    with pytest.raises(UserError, match=r'another optimiser.*momentum.* there and betas, eps, '
                       '.* in the config'):
        train(loaded(path, tmp_path, **adam), resume=earlier, new_schedule=new)


def test_what_cannot_be_resumed():
    with pytest.raises(UserError, match='holds weights only.*load_from=a.pth'):
        check_resumable(dict(state_dict={}), 'a.pth')
    whole = dict(state_dict={}, meta=dict(iter=1), message_hub={}, optimizer={})
    check_resumable(whole, 'a.pth')
    del whole['optimizer']
    with pytest.raises(UserError, match='a.pth holds no optimizer, so'):
        check_resumable(whole, 'a.pth')


def test_new_schedule_without_resume(path, capsys, monkeypatch):
    monkeypatch.setenv('LOCAL_RANK', '0')
    assert status('train', path, '--new-schedule') == 2
    assert 'give --resume, too' in capsys.readouterr().err
