import pytest
import torch

from mmqtvit.analysis.models import WholeModel, build_model, parse_kernel, parse_size
from mmqtvit.errors import UserError

from ..helpers.toy import write_toy


def test_backbones():
    model = build_model('qtvit1')
    assert not model.training and len(model(torch.rand(1, 3, 32, 64))) == 4
    again = build_model('qtvit1')
    assert torch.equal(model.stem[0].conv.weight, again.stem[0].conv.weight)
    assert build_model('b0').widths == (8, 16, 32, 64, 128)


def test_the_random_state_is_left_alone():
    state = torch.get_rng_state()
    build_model('b0')
    assert torch.equal(torch.get_rng_state(), state)


def test_timm():
    pytest.importorskip('timm')
    assert len(build_model('timm:efficientvit_b0')(torch.rand(1, 3, 32, 64))) == 4


@pytest.mark.parametrize('toolbox', ['mmseg', 'mmdet'])
def test_whole_models_and_their_loss(tmp_path, toolbox):
    path = write_toy(tmp_path, toolbox)
    model = build_model(path)
    images = torch.rand(2, 3, 64, 64)
    assert isinstance(model, WholeModel)
    model(images)
    model.train().loss(images).backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert len(build_model(f'{path}@backbone')(images)) == 4


def test_a_classifier_and_its_loss(root):
    model = build_model(str(root / 'configs/qtvit1_imagenet.py'),
                        {'model.train_cfg': None})
    assert model(torch.rand(2, 3, 32, 32)).shape == (2, 1000)
    assert model.loss(torch.rand(2, 3, 32, 32)) > 0


@pytest.mark.parametrize(('spec', 'message'), [
    ('qtvit7', 'there is no model .qtvit7.*timm:NAME.*qtvit1'),
    ('timm:qtvit7', 'timm has no feature maps of .qtvit7'),
    ('configs/missing.py', 'configs/missing.py not found'),
    ('configs/missing.py@backbone', 'configs/missing.py not found')])
def test_what_is_no_model(spec, message):
    with pytest.raises(UserError, match=message):
        build_model(spec)


def test_a_config_without_a_model(tmp_path):
    config = tmp_path / 'data.py'
    config.write_text("default_scope = 'mmseg'")
    with pytest.raises(UserError, match='describes no model'):
        build_model(str(config))


def test_sizes():
    assert parse_size('512x1024') == (512, 1024)
    for text in ('512', '512x', '0x4', '3x4x5', 'axb', '-1x4'):
        with pytest.raises(UserError, match='HEIGHTxWIDTH'):
            parse_size(text)


def test_kernels():
    known = ['ReLULinear']
    assert parse_kernel('ReLULinear', known) == dict(type='ReLULinear')
    assert parse_kernel('ReLULinear:eps=1e-5,mode=fast,on=True', known) == dict(
        type='ReLULinear', eps=1e-5, mode='fast', on=True)
    with pytest.raises(UserError, match="no kernel 'ReLU'; there are ReLULinear"):
        parse_kernel('ReLU', known)
    with pytest.raises(UserError, match="got 'eps'"):
        parse_kernel('ReLULinear:eps', known)
