"""``init_cfg=dict(type='Pretrained', checkpoint=…)`` of a backbone."""

import pytest
import torch
from mmengine.model import PretrainedInit
from mmengine.registry import DefaultScope, init_default_scope

from mmqtvit import EfficientViT, QTViT
from mmqtvit.errors import UserError
from mmqtvit.weights import LAYOUTS
from tests.helpers.archs import ARCHS


@pytest.fixture
def source():
    return QTViT(ARCHS['b'])


def pretrained(path, **more):
    return QTViT(ARCHS['b'], init_cfg=dict(type='Pretrained', checkpoint=str(path), **more))


def equal(model, other):
    return all(torch.equal(a, b) for a, b in zip(model.state_dict().values(),
                                                 other.state_dict().values()))


@pytest.mark.parametrize('layout', LAYOUTS)
def test_any_layout(tmp_path, source, layout):
    state = {LAYOUTS[layout](f'backbone.{key}', 'b'): value
             for key, value in source.state_dict().items()}
    torch.save({'state_dict': state}, tmp_path / 'a.pth')
    model = pretrained(tmp_path / 'a.pth')
    assert not equal(model, source)
    model.init_weights()
    assert equal(model, source)


@pytest.mark.parametrize('prefix', [
    '', 'backbone.', 'module.backbone.', 'module.', '_orig_mod.', 'module._orig_mod.',
    '_orig_mod.module.', '_orig_mod.backbone.', 'backbone._orig_mod.',
    '_orig_mod.module.backbone.', 'net.', 'encoder.', 'model.net.encoder.'])
def test_prefixes_are_found(tmp_path, source, prefix):
    torch.save({prefix + k: v for k, v in source.state_dict().items()}, tmp_path / 'a.pth')
    model = pretrained(tmp_path / 'a.pth')
    model.init_weights()
    assert equal(model, source)


def test_a_stage_that_was_compiled_alone(tmp_path, source):
    torch.save({k.replace('stages.1.', 'stages.1._orig_mod.'): v
                for k, v in source.state_dict().items()}, tmp_path / 'a.pth')
    model = pretrained(tmp_path / 'a.pth')
    model.init_weights()
    assert equal(model, source)


@pytest.mark.parametrize('name', ['model_state_dict', 'module', 'net', 'student', 'weights'])
def test_containers_of_any_name(tmp_path, source, name):
    torch.save({name: source.state_dict(), 'epoch': 3, 'optimizer': {
        'state': {0: {'exp_avg': torch.ones(2)}}, 'param_groups': [{'lr': 0.1}]}},
        tmp_path / 'a.pth')
    model = pretrained(tmp_path / 'a.pth')
    model.init_weights()
    assert equal(model, source)


@pytest.mark.parametrize('flat', [False, True])
def test_of_several_models_one_is_chosen_by_the_prefix(tmp_path, source, flat):
    state = dict(teacher={f'backbone.{k}': v for k, v in pretrained('').state_dict().items()},
                 student={f'backbone.{k}': v for k, v in source.state_dict().items()})
    if flat:
        state = {f'{name}.{k}': v for name, values in state.items() for k, v in values.items()}
    torch.save(state, tmp_path / 'a.pth')
    with pytest.raises(UserError, match=r"a\.pth: .*2 times, below student and teacher\. "
                       r"Choose one: prefix='student'"):
        pretrained(tmp_path / 'a.pth').init_weights()
    for prefix in ('student', 'student.', 'student.backbone'):
        model = pretrained(tmp_path / 'a.pth', prefix=prefix)
        model.init_weights()
        assert equal(model, source)


def test_a_whole_prefix_is_meant(tmp_path, source):
    state = {f'net_ema.{k}': torch.zeros_like(v) for k, v in source.state_dict().items()}
    torch.save({**state, **{f'net.{k}': v for k, v in source.state_dict().items()}},
               tmp_path / 'a.pth')
    model = pretrained(tmp_path / 'a.pth', prefix='net')
    model.init_weights()
    assert equal(model, source)


def test_of_a_momentum_encoder_beside_it_nothing_is_taken(tmp_path, source):
    state = {f'momentum_encoder.{k}': torch.zeros_like(v) for k, v in source.state_dict().items()}
    torch.save({**state, **{f'backbone.{k}': v for k, v in source.state_dict().items()}},
               tmp_path / 'a.pth')
    model = pretrained(tmp_path / 'a.pth')
    model.init_weights()
    assert equal(model, source)


def test_nothing_fits_below_any_prefix(tmp_path):
    torch.save({'student': {'layer1.weight': torch.ones(1)}, 'teacher': {'a': torch.ones(1)}},
               tmp_path / 'a.pth')
    with pytest.raises(UserError, match=r'(?s)the file has student\.layer1\.weight, teacher\.a, …'
                       '.*below any prefix'):
        pretrained(tmp_path / 'a.pth').init_weights()


def test_safetensors(tmp_path, source):
    safetensors = pytest.importorskip('safetensors.torch')
    safetensors.save_file(source.state_dict(), tmp_path / 'a.safetensors')
    model = pretrained(tmp_path / 'a.safetensors')
    model.init_weights()
    assert equal(model, source)


def test_from_a_detectors_config(tmp_path, source):
    from mmdet.registry import MODELS

    from tests.configs.test_configs import load
    torch.save(source.state_dict(), tmp_path / 'a.pth')
    cfg = load('retinanet_qtvit1_coco').model
    cfg.backbone.update(arch=ARCHS['b'], init_cfg=dict(
        type='Pretrained', checkpoint=str(tmp_path / 'a.pth')))
    cfg.neck.in_channels = [16, 32, 64, 128]
    init_default_scope('mmdet')
    try:
        model = MODELS.build(cfg)
        model.init_weights()
    finally:
        DefaultScope._instance_dict.clear()
    assert equal(model.backbone, source)


def test_missing_file(tmp_path):
    with pytest.raises(UserError, match='a.pth is not there'):
        pretrained(tmp_path / 'a.pth').init_weights()


def test_averaged_weights_of_mmengines_own_checkpoint(tmp_path):
    """mmengine saves the average under ``state_dict`` and the raw weights in the other place."""
    from mmengine.hooks import EMAHook
    from mmengine.model import ExponentialMovingAverage
    raw = QTViT(ARCHS['b'])
    hook = EMAHook()
    hook.ema_model = ExponentialMovingAverage(raw)
    average = hook.ema_model.module
    torch.nn.init.ones_(average.stem[0].conv.weight)
    checkpoint = dict(state_dict=raw.state_dict(), ema_state_dict=hook.ema_model.state_dict())
    hook._swap_ema_state_dict(checkpoint)  # the last step of saving
    torch.save(checkpoint, tmp_path / 'a.pth')
    model = pretrained(tmp_path / 'a.pth')
    model.init_weights()
    assert (model.stem[0].conv.weight == 1).all()


def test_in_a_list_with_other_initialisations(tmp_path, source):
    torch.save({LAYOUTS['published'](f'backbone.{key}', 'b'): value
                for key, value in source.state_dict().items()}, tmp_path / 'a.pth')
    constant = dict(type='Constant', layer='Conv2d', val=3.)
    for kind in ('Pretrained', PretrainedInit):
        model = QTViT(ARCHS['b'], init_cfg=[
            dict(type=kind, checkpoint=str(tmp_path / 'a.pth')), constant])
        model.init_weights()
        assert equal(model, source)


def test_parts_that_the_file_lacks_keep_the_other_initialisation(tmp_path):
    torch.save(EfficientViT(ARCHS['b']).state_dict(), tmp_path / 'a.pth')
    model = QTViT(ARCHS['b'], init_cfg=[
        dict(type='Pretrained', checkpoint=str(tmp_path / 'a.pth')),
        dict(type='Constant', layer='BatchNorm2d', val=3.)])
    model.init_weights()
    shortcut = model.stages[3][1].attention.branch.value_shortcut
    assert (shortcut.norm.weight == 3).all() and (model.stem[0].norm.weight == 1).all()


@pytest.mark.parametrize('wrong', [dict(), dict(checkpoint=None), dict(checkpoint='a', mode=1)])
def test_wrong_arguments(wrong):
    with pytest.raises(UserError, match='takes checkpoint, a file or an address.*got'):
        QTViT(ARCHS['b'], init_cfg=dict(type='Pretrained', **wrong)).init_weights()


def test_a_prefix_that_no_key_has(tmp_path, source):
    torch.save(source.state_dict(), tmp_path / 'a.pth')
    with pytest.raises(UserError, match=r"prefix 'teacher\.'; it has stem\.0\.conv\.weight"):
        pretrained(tmp_path / 'a.pth', prefix='teacher.').init_weights()
