import copy

import pytest
import torch

from mmqtvit.analysis.benchmark import DTYPES, Plan, make_case, prepare, run
from mmqtvit.analysis.models import build_model
from mmqtvit.analysis.timing import Schedule
from mmqtvit.errors import UserError

from ..helpers.toy import write_toy

CPU = torch.device('cpu')
ONCE = Schedule(1, 1)


@pytest.mark.parametrize('mode', ['channels_last', 'fused', 'fused+channels_last', 'deployed'])
@pytest.mark.parametrize('spec', ['qtvit1', 'timm:efficientvit_b1'])
def test_modes_change_the_form_and_not_the_result(spec, mode):
    pytest.importorskip('timm')
    model = build_model(spec)
    for name, buffer in model.named_buffers():  # statistics as after some training
        if name.endswith('running_var'):
            buffer.uniform_(0.5, 2.)
    prepared = prepare(copy.deepcopy(model), mode)
    images = torch.rand(1, 3, 64, 96)
    with torch.no_grad():
        for expected, got in zip(model(images), prepared(images)):
            assert torch.allclose(expected, got, rtol=1e-3, atol=1e-4)
    norms = [module for module in prepared.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    before = [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    if 'fused' in mode:
        assert len(norms) < len(before) / 3
    if 'channels_last' in mode:
        weights = [p for p in prepared.parameters() if p.dim() == 4]
        assert all(p.is_contiguous(memory_format=torch.channels_last) for p in weights)


def test_compiled_is_compiled_for_one_size(monkeypatch):
    asked = []
    monkeypatch.setattr(torch, 'compile', lambda model, **options: asked.append(options) or model)
    prepare(build_model('b0'), 'fused+compiled')
    assert asked == [dict(dynamic=False)]


@pytest.mark.parametrize('dtype', DTYPES)
def test_dtypes(dtype):
    case = make_case('b0', (32, 64), 'eager', dtype, 'forward', 2, CPU)
    levels = case.run()
    assert levels[0].shape[0] == 2
    assert levels[0].dtype == (torch.float32 if dtype == 'float32' else
                               getattr(torch, dtype.rpartition(':')[-1]))
    assert not levels[0].requires_grad


def test_a_training_step_changes_the_weights_and_leaves_no_gradients():
    case = make_case('b0', (32, 32), 'eager', 'float32', 'train', 2, CPU)
    parameters = [p for p in case.existing if isinstance(p, torch.nn.Parameter)]
    before = [p.detach().clone() for p in parameters]
    case.run()
    assert any(not torch.equal(old, new) for old, new in zip(before, parameters))
    assert all(p.grad is None for p in parameters)


def test_all_combinations_are_measured_with_progress(tmp_path, capsys):
    config = write_toy(tmp_path)
    plan = Plan(['b0', config], [(32, 64)], passes=('forward', 'train'), batch=2)
    measurements = run(plan, CPU, ONCE)
    assert [tuple(m.labels.values()) for m in measurements] == [
        (model, '32x64', 'eager', 'float32', pass_)
        for pass_ in ('forward', 'train') for model in ('b0', config)]
    assert all(m.median > 0 and m.peak > 0 for m in measurements)
    assert [m.kept is None for m in measurements] == [True] * 2 + [False] * 2
    assert '4/4' in capsys.readouterr().err


@pytest.mark.parametrize(('options', 'message'), [
    (dict(modes=['folded']), "a mode is eager or some of .*fused.* got 'folded'"),
    (dict(modes=['fused+']), "got 'fused\\+'"),
    (dict(modes=['fused'], passes=['train']), 'leave out --passes train'),
    (dict(modes=['deployed'], passes=['train']), 'leave out --passes train'),
    (dict(dtypes=['int8']), "a dtype is one of float32.*got 'int8'"),
    (dict(passes=['test']), "a pass is one of forward, train, got 'test'")])
def test_wrong_plans(options, message):
    with pytest.raises(UserError, match=message):
        run(Plan(['b0'], [(32, 32)], **options), CPU, ONCE)
