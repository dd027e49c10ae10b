"""The shipped recipe from end to end: all its parts, on a model and images that are small."""

import json
import re

import pytest
import torch
from safetensors.torch import save_file

pytest.importorskip('mmpretrain')
from mmqtvit import apis  # noqa: E402
from mmqtvit.apis import UserError, load_config, train  # noqa: E402
from mmqtvit.weights import LAYOUTS, read_checkpoint  # noqa: E402
from tests.helpers.imagenet import (  # noqa: E402
    NUM_CLASSES,
    ROOT,
    small,
    write_imagenet,
    write_images,
)


def config(name, folder):
    cfg = load_config(str(ROOT / f'configs/{name}.py'), work_dir=str(folder / 'run'))
    return small(cfg, str(folder / 'imagenet'))


@pytest.fixture(scope='module')
def trained(tmp_path_factory):
    """A folder with data and a run of one of the two epochs, then resumed."""
    folder = tmp_path_factory.mktemp('imagenet')
    write_imagenet(folder / 'imagenet')
    cfg = config('qtvit4_imagenet', folder)  # the one with random erasing
    cfg.model.neck.series = 'b'
    cfg.train_cfg.max_epochs = 1
    train(cfg)
    cfg = config('qtvit1_imagenet', folder)
    train(cfg, resume='auto')
    return folder


def test_weights_and_statistics_of_the_average_are_saved(trained):
    checkpoint = read_checkpoint(str(trained / 'run/epoch_2.pth'))
    raw, average = checkpoint['ema_state_dict'], checkpoint['state_dict']
    names = [name for name in average
             if name.endswith(('stem.0.conv.weight', 'norm.running_mean'))]
    assert len(names) > 10
    for name in names:
        assert not torch.equal(raw[f'module.{name}'], average[name]), name


def test_evaluates_what_training_reported(trained):
    record = sorted(trained.glob('run/*/vis_data/*.json'))
    reported = [json.loads(line) for path in record for line in path.read_text().splitlines()]
    last = [entry['accuracy/top1'] for entry in reported if 'accuracy/top1' in entry][-1]
    metrics = apis.test(config('qtvit1_imagenet', trained), str(trained / 'run/epoch_2.pth'))
    assert metrics['accuracy/top1'] == pytest.approx(last)
    assert metrics == apis.test(config('qtvit1_imagenet', trained),
                                  str(trained / 'run/epoch_2.pth'), plain=True)


@pytest.mark.parametrize('layout', LAYOUTS)
def test_any_layout_is_evaluated_as_it_is(trained, tmp_path, layout):
    checkpoint = read_checkpoint(str(trained / 'run/epoch_2.pth'))
    state_dict = {LAYOUTS[layout](key, 'b'): value
                  for key, value in checkpoint['state_dict'].items()}
    path = tmp_path / 'classifier.pt'
    torch.save(dict(state_dict=state_dict), path)
    own, found = (apis.test(config('qtvit1_imagenet', trained), str(source))
                  for source in (trained / 'run/epoch_2.pth', path))
    assert own == found


@pytest.mark.parametrize('form', ['bare', 'model', 'module', 'average', 'safetensors'])
def test_any_container_is_evaluated_as_it_is(trained, tmp_path, form):
    source = trained / 'run/epoch_2.pth'
    state_dict = read_checkpoint(str(source))['state_dict']
    path = tmp_path / 'classifier.pth'
    if form == 'safetensors':
        path = path.with_suffix('.safetensors')
        save_file({key: value.contiguous() for key, value in state_dict.items()}, path)
    else:
        raw = {key: torch.zeros_like(value) for key, value in state_dict.items()}
        torch.save({
            'bare': state_dict,
            'model': dict(model=state_dict),
            'module': dict(state_dict={f'module.{key}': value
                                       for key, value in state_dict.items()}),
            'average': dict(state_dict=raw, ema={0.9998: state_dict})}[form], path)
    own, found = (apis.test(config('qtvit1_imagenet', trained), str(each))
                  for each in (source, path))
    assert own == found


def test_what_is_not_of_the_model_is_told(trained, tmp_path):
    state_dict = read_checkpoint(str(trained / 'run/epoch_2.pth'))['state_dict']
    torch.save(dict(state_dict, extra=torch.zeros(1)), tmp_path / 'more.pth')
    apis.test(config('qtvit1_imagenet', trained), str(tmp_path / 'more.pth'))
    log = sorted(trained.glob('run/*/*.log'))[-1].read_text()
    assert re.search(r'WARNING - .*more.pth: .*in the file only: extra \(1\)', log)
    torch.save({key: value for key, value in state_dict.items() if 'stages.3' not in key},
               tmp_path / 'less.pth')
    with pytest.raises(UserError, match=r'Not in the file.*backbone\.stages\.\*\.'):
        apis.test(config('qtvit1_imagenet', trained), str(tmp_path / 'less.pth'))


def test_a_backbone_alone_is_no_classifier(trained, tmp_path):
    checkpoint = read_checkpoint(str(trained / 'run/epoch_2.pth'))
    path = tmp_path / 'backbone.pt'
    torch.save({LAYOUTS['published'](key, 'b'): value
                for key, value in checkpoint['state_dict'].items() if 'backbone' in key}, path)
    with pytest.raises(UserError, match=r'Not in the file.*head\.fc\.weight'):
        apis.test(config('qtvit1_imagenet', trained), str(path))


def test_imagenet_v2(trained):
    write_images(trained / 'v2', [f'{label}/0.jpeg' for label in range(NUM_CLASSES)])
    cfg = config('qtvit1_imagenetv2', trained)
    cfg.test_dataloader.dataset.data_root = str(trained / 'v2')
    metrics = apis.test(cfg, str(trained / 'run/epoch_2.pth'))
    assert set(metrics) == {'accuracy/top1', 'accuracy/top5'}


def test_imagenet_real(trained):
    path = trained / 'imagenet/real.json'
    # The first image has no label, all others any that can be predicted.
    path.write_text(json.dumps([[], *([list(range(NUM_CLASSES))] * (NUM_CLASSES - 1))]))
    cfg = config('qtvit1_imagenet_real', trained)
    cfg.test_evaluator.ann_file = str(path)
    assert apis.test(cfg, str(trained / 'run/epoch_2.pth')) == {'real/top1': 100.}


def test_missing_files_are_named(trained, tmp_path):
    cfg = config('qtvit1_imagenet_real', trained)
    with pytest.raises(UserError, match=r'data/imagenet/real\.json'):
        apis.test(cfg, str(trained / 'run/epoch_2.pth'))
    cfg = config('qtvit1_imagenet', tmp_path)
    with pytest.raises(UserError, match=r'imagenet/train'):
        train(cfg)
    (tmp_path / 'imagenet/train/n00').mkdir(parents=True)
    with pytest.raises(UserError, match=r'imagenet/val'):
        train(cfg)


def test_averages_without_buffers_are_refused(trained):
    cfg = config('qtvit1_imagenet', trained)
    cfg.custom_hooks[0].update_buffers = False
    with pytest.raises(UserError, match='update_buffers=True'):
        train(cfg)
