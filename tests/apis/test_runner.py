"""Short runs in this process, on a handful of small images."""

import itertools
import os
import pickle
import signal
from pathlib import Path

import pytest
import torch
import torch._dynamo
from mmengine.hooks import Hook
from mmengine.registry import HOOKS

from mmqtvit import apis
from mmqtvit.apis import Interrupted, UserError, load_config, report_user_errors, train

from ..helpers.toy import BACKBONE, write_toy


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # faster for so little work, and for what runs beside it
    yield
    torch.set_num_threads(threads)


@pytest.fixture(params=['mmseg', 'mmdet'])
def toolbox(request):
    return request.param


@HOOKS.register_module()
class StopAt(Hook):
    """Presses Ctrl-C after an iteration."""

    def __init__(self, at):
        self.at = at

    def after_train_iter(self, runner, batch_idx, data_batch=None, outputs=None):
        if runner.iter == self.at:
            raise KeyboardInterrupt


@HOOKS.register_module()
class TerminateAt(StopAt):
    """Ends this process after an iteration, as a job scheduler does."""

    def after_train_iter(self, runner, batch_idx, data_batch=None, outputs=None):
        if runner.iter == self.at:
            os.kill(os.getpid(), signal.SIGTERM)


COUNTER = itertools.count()


def loaded(path, tmp_path, **options):
    options.setdefault('work_dir', str(tmp_path / 'run'))
    # mmengine tells apart what it keeps of each run by this name and the second of the start.
    options['experiment_name'] = options['visualizer.name'] = f'run{next(COUNTER)}'
    return load_config(path, options)


def last_log(tmp_path):
    return sorted((tmp_path / 'run').glob('*/*.log'))[-1].read_text()


def test_sigterm_says_how_to_go_on(tmp_path, capsys):
    cfg = loaded(write_toy(tmp_path), tmp_path, custom_hooks=[dict(type='TerminateAt', at=2)])
    with pytest.raises(SystemExit), report_user_errors():
        train(cfg)
    assert '--resume' in capsys.readouterr().err


def weights(path):
    return torch.load(path, weights_only=False)['state_dict']


def test_stop_resume_and_test(tmp_path, toolbox):
    path = write_toy(tmp_path, toolbox)
    whole = loaded(path, tmp_path, work_dir=str(tmp_path / 'whole'))
    train(whole)

    cfg = loaded(path, tmp_path, custom_hooks=[dict(type='StopAt', at=2)])
    with pytest.raises(Interrupted, match=r'iteration 2; the last.*iter_2.pth\n.*--resume'):
        train(cfg)
    # The random order of images is not part of a checkpoint, so only the count is compared.
    train(loaded(path, tmp_path), resume='auto')
    assert 'resumed epoch: 0, iter: 2' in last_log(tmp_path)
    assert 'SyncBN became BN' in last_log(tmp_path)
    checkpoint = torch.load(tmp_path / 'run/iter_4.pth', weights_only=False)
    assert checkpoint['meta']['iter'] == 4
    assert len(checkpoint['message_hub']['log_scalars']['train/loss'].data[0]) == 4
    assert weights(tmp_path / 'run/iter_4.pth').keys() == weights(tmp_path / 'whole/iter_4.pth'
                                                                  ).keys()
    names = dict(mmseg=('sky', 'sea', 'land'), mmdet=('disc', 'box'))[toolbox]
    assert tuple(checkpoint['meta']['dataset_meta']['classes']) == names

    pictures = tmp_path / 'pictures'
    out = tmp_path / ('maps' if toolbox == 'mmseg' else 'boxes.pkl')
    metrics = apis.test(loaded(path, tmp_path), str(tmp_path / 'run/iter_4.pth'), out=str(out),
                   show_dir=str(pictures))
    assert any(key.endswith(dict(mmseg='mIoU', mmdet='bbox_mAP')[toolbox]) for key in metrics)
    assert len([file for file in pictures.rglob('*') if file.suffix in ('.png', '.jpg')]) == 4
    if toolbox == 'mmseg':
        assert len(list(out.iterdir())) == 4
    else:
        assert len(pickle.loads(out.read_bytes())) == 4
    plain = apis.test(loaded(path, tmp_path), str(tmp_path / 'run/iter_4.pth'), plain=True)
    assert plain == pytest.approx(metrics, abs=0.01)
    without = {'train_dataloader.dataset.data_root': 'nowhere'}
    for more in (dict(tta=True), dict(), dict(show_dir=str(pictures))):
        assert apis.test(loaded(path, tmp_path, **without), str(tmp_path / 'run/iter_4.pth'),
                           **more)


@pytest.mark.slow()
def test_compiled_by_option(tmp_path):
    compiled = {'compile': dict(backend='eager')}  # which skips the making of machine code
    path = write_toy(tmp_path)
    graphs = torch._dynamo.utils.counters['stats']
    graphs.clear()
    train(loaded(path, tmp_path, **compiled))
    assert graphs['unique_graphs'] > 0
    checkpoint = str(tmp_path / 'run/iter_4.pth')
    metrics = apis.test(loaded(path, tmp_path, **compiled), checkpoint)
    assert metrics == pytest.approx(apis.test(loaded(path, tmp_path), checkpoint), abs=0.01)


@pytest.mark.parametrize('own', [True, False])
def test_weights_as_others_save_them(tmp_path, own):
    path = write_toy(tmp_path)
    if not own:
        text = Path(path).read_text()
        Path(path).write_text(text.replace(BACKBONE, """dict(
        type='ResNet', depth=18, base_channels=2, stem_channels=4)"""))
    train(loaded(path, tmp_path, **{'train_cfg.max_iters': 2}))
    trained = str(tmp_path / 'run/iter_2.pth')
    torch.save({'model_state_dict': {
        f'module._orig_mod.{key}': value for key, value in weights(trained).items()}, 'epoch': 1},
        tmp_path / 'a.pth')
    metrics = apis.test(loaded(path, tmp_path), str(tmp_path / 'a.pth'))
    assert metrics == apis.test(loaded(path, tmp_path), trained)


def test_averaged_weights(tmp_path, toolbox):
    path = write_toy(tmp_path, toolbox)
    averaged = dict(custom_hooks=[dict(type='EMAHook', update_buffers=True)])
    train(loaded(path, tmp_path, **averaged))
    checkpoint = str(tmp_path / 'run/iter_4.pth')
    assert 'ema_state_dict' in torch.load(checkpoint, weights_only=False)
    # The checkpoint has the averages in the model's place, so the hook makes no difference.
    metrics = apis.test(loaded(path, tmp_path, **averaged), checkpoint)
    assert metrics == apis.test(loaded(path, tmp_path), checkpoint)


def test_resume_from_a_file_that_the_runner_wrote_by_itself(tmp_path):
    from mmengine.runner import Runner
    path = write_toy(tmp_path)
    cfg = loaded(path, tmp_path, work_dir=str(tmp_path / 'own'))
    for loader in (cfg.train_dataloader, cfg.val_dataloader, cfg.test_dataloader):
        loader.persistent_workers = False
    Runner.from_cfg(cfg).train()
    cfg = loaded(path, tmp_path, **{'train_cfg.max_iters': 6})
    train(cfg, resume=str(tmp_path / 'own/iter_4.pth'))
    assert (tmp_path / 'run/iter_6.pth').exists()
    assert not (tmp_path / 'run/iter_2.pth').exists()


def test_resume_says_when_there_is_nothing(tmp_path):
    train(loaded(write_toy(tmp_path), tmp_path, **{'train_cfg.max_iters': 1}), resume='auto')
    assert 'Nothing to resume in' in last_log(tmp_path)


def test_start_from_weights(tmp_path):
    path = write_toy(tmp_path)
    train(loaded(path, tmp_path, **{'train_cfg.max_iters': 2}))
    first = tmp_path / 'run/iter_2.pth'
    cfg = loaded(path, tmp_path, work_dir=str(tmp_path / 'second'), load_from=str(first), **{
        'train_cfg.max_iters': 2, 'optim_wrapper.optimizer.lr': 0.})
    train(cfg)
    key = 'decode_head.conv_seg.weight'
    torch.testing.assert_close(weights(first)[key],
                               weights(tmp_path / 'second/iter_2.pth')[key])


def test_start_with_other_classes(tmp_path):
    path, first = write_toy(tmp_path), tmp_path / 'first/iter_2.pth'
    train(loaded(path, tmp_path, work_dir=str(first.parent), **{'train_cfg.max_iters': 2}))
    more = {'model.decode_head.num_classes': 5, 'train_cfg.max_iters': 2}
    train(loaded(path, tmp_path, load_from=str(first), **more))
    assert 'another shape, not loaded: decode_head.conv_seg.bias' in last_log(tmp_path)
    with pytest.raises(UserError, match=r'does not fit the whole model.*\n.*decode_head\.conv_seg'):
        apis.test(loaded(path, tmp_path, **more), str(first))


@pytest.mark.parametrize('kind', [dict(type='SingleDeviceStrategy'), None])
def test_flexible_runner(tmp_path, kind):
    """It builds its model when it starts; FSDP and DeepSpeed are strategies of it."""
    path, first = write_toy(tmp_path), tmp_path / 'first/iter_2.pth'
    options = {'runner_type': 'FlexibleRunner', 'strategy': kind, 'train_cfg.max_iters': 2}
    train(loaded(path, tmp_path, work_dir=str(first.parent), **options))
    train(loaded(path, tmp_path, load_from=str(first), **options,
                 **{'optim_wrapper.optimizer.lr': 0.}))
    key = 'decode_head.conv_seg.weight'
    torch.testing.assert_close(weights(tmp_path / 'run/iter_2.pth')[key], weights(first)[key])
    train(loaded(path, tmp_path, **{**options, 'train_cfg.max_iters': 4}), resume=str(first))
    assert 'resumed epoch: 0, iter: 2' in last_log(tmp_path)
    metrics = apis.test(loaded(path, tmp_path, **options), str(first))
    plain = apis.test(loaded(path, tmp_path), str(first), show_dir=str(tmp_path / 'pictures'))
    assert metrics == plain
    for more in (dict(tta=True), dict(plain=True), dict(show_dir=str(tmp_path / 'other'))):
        assert apis.test(loaded(path, tmp_path, **options), str(first), **more)


def test_pretrained_backbone(tmp_path):
    path = write_toy(tmp_path)
    train(loaded(path, tmp_path, **{'train_cfg.max_iters': 2}))
    init = dict(type='Pretrained', checkpoint=str(tmp_path / 'run/iter_2.pth'), prefix='backbone.')
    train(loaded(path, tmp_path, work_dir=str(tmp_path / 'second'), **{
        'model.backbone.init_cfg': init, 'train_cfg.max_iters': 2,
        'optim_wrapper.optimizer.lr': 0.}))
    first, second = (weights(tmp_path / f'{name}/iter_2.pth') for name in ('run', 'second'))
    keys = [key for key in first if key.startswith('backbone.') and key.endswith('conv.weight')]
    assert keys
    for key in keys:
        torch.testing.assert_close(first[key], second[key])


class Malicious:

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f'touch {self.marker}', )


@pytest.mark.parametrize('option', ['checkpoint', 'resume', 'load_from', 'init_cfg'])
def test_malicious_checkpoint(tmp_path, option):
    path = write_toy(tmp_path)
    bad = str(tmp_path / 'bad.pth')
    torch.save(dict(state_dict={}, meta=Malicious(tmp_path / 'marker')), bad)
    with pytest.raises(UserError, match='posix.system'):
        if option == 'checkpoint':
            apis.test(loaded(path, tmp_path), bad)
        elif option == 'resume':
            train(loaded(path, tmp_path), resume=bad)
        elif option == 'load_from':
            train(loaded(path, tmp_path, load_from=bad))
        else:
            train(loaded(path, tmp_path, **{
                'model.backbone.init_cfg': dict(type='Pretrained', checkpoint=bad)}))
    assert not (tmp_path / 'marker').exists()


@pytest.mark.parametrize('options, match', [
    ({'model.backbone.arch': 'qtvit9'}, "build mmqtvit.QTViT: arch must be one of.*'qtvit9'"),
    ({'model.backbone.type': 'mmqtvit.QTVIT'}, 'QTVIT is not in the'),
    ({'model.backbone.depth': 50}, "cannot build mmqtvit.QTViT: .*'depth'"),
    ({'model.backbone.out_indices': (0, 4)}, 'cannot build mmqtvit.QTViT: .*out_indices'),
    ({'param_scheduler.0.type': 'PoliLR'}, 'PoliLR is not in the'),
    ({'train_dataloader.dataset.type': 'NoDataset'}, 'NoDataset is not in the'),
    # Raised in lines of any kind: an assert of two lines, Python's own, and without a part.
    ({'train_dataloader.dataset.pipeline.2': dict(type='RandomCrop', crop_size=[16, 16])},
     'build RandomCrop: The expected'),
    ({'optim_wrapper.optimizer.lr': 'a'}, "cannot build SGD: '<' not supported"),
    ({'train_dataloader.batch_size': 'a'}, 'cannot build IterBasedTrainLoop: batch_size should'),
    ({'randomness.seed': 'a'}, 'cannot build the runner: Cannot cast'),
    ({'log_level': 'LOUD'}, 'cannot build the runner: LOUD'),
    ({'env_cfg': [1]}, r'cannot build the runner: AttributeError: .*\(.*py, line \d+: '),
])
def test_config_that_does_not_build(tmp_path, options, match):
    path = write_toy(tmp_path)
    with pytest.raises(UserError, match=match) as error:
        train(loaded(path, tmp_path, **options))
    assert path in str(error.value)


def test_config_dumped_as_json(tmp_path):
    """JSON has no tuples."""
    cfg = load_config(write_toy(tmp_path))
    cfg.train_dataloader.dataset.pipeline.append(dict(type='RandomCrop', crop_size=(16, 16)))
    cfg.dump(str(tmp_path / 'dumped.json'))
    with pytest.raises(UserError, match='dumped.json: cannot build RandomCrop: The expected'):
        train(loaded(str(tmp_path / 'dumped.json'), tmp_path))


def test_a_bug_is_not_hidden(tmp_path, monkeypatch):
    import mmqtvit

    def broken(self, x):
        raise ValueError('a bug')

    monkeypatch.setattr(mmqtvit.QTViT, 'forward', broken)
    with pytest.raises(ValueError, match='a bug'):
        train(loaded(write_toy(tmp_path), tmp_path))


def test_checkpoint_of_another_model(tmp_path):
    path = write_toy(tmp_path)
    torch.save(dict(state_dict=dict(fc=torch.rand(3))), tmp_path / 'other.pth')
    with pytest.raises(UserError, match=r'other.pth: no key of the checkpoint .*\n.*has fc, '):
        apis.test(loaded(path, tmp_path), str(tmp_path / 'other.pth'))
    with pytest.raises(UserError, match='holds weights only'):
        train(loaded(path, tmp_path), resume=str(tmp_path / 'other.pth'))
    with pytest.raises(UserError, match='is not there'):
        train(loaded(path, tmp_path), resume=str(tmp_path / 'missing.pth'))


def test_data_are_looked_for_first(tmp_path):
    path = write_toy(tmp_path)
    cfg = loaded(path, tmp_path, **{'val_dataloader.dataset.data_root': 'nowhere',
                                    'model.backbone.arch': 'qtvit9'})
    with pytest.raises(UserError, match='nowhere/images'):
        train(cfg)
    assert not os.path.exists(tmp_path / 'run')


def test_classification(tmp_path):
    path = write_toy(tmp_path, 'mmpretrain')
    train(loaded(path, tmp_path))
    checkpoint = str(tmp_path / 'run/iter_4.pth')
    metrics = apis.test(loaded(path, tmp_path), checkpoint, out=str(tmp_path / 'a.pkl'),
                          show_dir=str(tmp_path / 'pictures'))
    assert 'accuracy/top1' in metrics
    assert len(pickle.loads((tmp_path / 'a.pkl').read_bytes())) == 4
    assert any((tmp_path / 'pictures').iterdir())
    assert 'accuracy/top1' in apis.test(loaded(path, tmp_path), checkpoint, tta=True)
