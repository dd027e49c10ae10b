"""Checkpoints of every layout, loaded and compared with the models that they come from."""

import numpy as np
import pytest
import torch
from torch import nn

from mmqtvit import EfficientViT, QTViT
from mmqtvit.errors import UserError
from mmqtvit.necks import ClassifierNeck
from mmqtvit.weights import LAYOUTS, load_weights
from tests.helpers.archs import ARCHS


class Classifier(nn.Module):
    """As mmpretrain's ImageClassifier puts the parts together."""

    def __init__(self, backbone, series):
        super().__init__()
        self.backbone = backbone(ARCHS[series])
        self.neck = ClassifierNeck(128, 64, 80, series)
        self.head = nn.Module()
        self.head.fc = nn.Linear(80, 10)

    def forward(self, x):
        return self.head.fc(self.neck(self.backbone(x))[0])


@pytest.fixture(params=['b', 'l'])
def series(request):
    return request.param


def published(model, series, layout='published'):
    """The model's weights under a layout's names."""
    return {LAYOUTS[layout](key, series): value for key, value in model.state_dict().items()}


@pytest.mark.parametrize('backbone', [QTViT, EfficientViT])
def test_reference_files(shared, backbone, series):
    path = shared / f'reference/{backbone.__name__.lower()}_{series}_small'
    checkpoint = torch.load(path.with_suffix('.pt'), weights_only=True)
    model = Classifier(backbone, series).eval()
    report = load_weights(model, checkpoint)
    assert (report.layout, report.missing, report.unexpected, report.misshaped) == (
        'published', [], [], [])
    reference = np.load(path.with_suffix('.npz'))
    for side in (224, 256):
        images = torch.from_numpy(reference[f'input_{side}'])
        with torch.no_grad():
            outputs = [*model.backbone(images), model(images)]
        for name, output in zip(['stage1', 'stage2', 'stage3', 'stage4', 'logits'], outputs):
            torch.testing.assert_close(
                output, torch.from_numpy(reference[f'{name}_{side}']), rtol=0, atol=2e-5)


@pytest.mark.parametrize('layout', LAYOUTS)
@pytest.mark.parametrize('wrap', [
    lambda state: state, lambda state: {'state_dict': state},
    lambda state: {'state_dict_ema': state, 'state_dict': {'other': torch.zeros(1)}},
    lambda state: {'model_ema': state, 'model': {'other': torch.zeros(1)}},
    lambda state: {'ema': {0.99: {'other': torch.zeros(1)}, 0.9998: state}, 'state_dict': {}},
    lambda state: {'model': {f'module.{key}': value for key, value in state.items()}}])
def test_round_trip_is_exact(series, layout, wrap):
    source, target = Classifier(QTViT, series), Classifier(QTViT, series)
    report = load_weights(target, wrap(published(source, series, layout)))
    assert report.layout == layout
    assert not report.missing + report.unexpected + report.misshaped + report.resized
    for (key, value), loaded in zip(source.state_dict().items(), target.state_dict().values()):
        assert torch.equal(value, loaded), key


@pytest.mark.parametrize('layout', LAYOUTS)
@pytest.mark.parametrize('bare', [False, True])
def test_backbone_alone(series, layout, bare):
    source = Classifier(QTViT, series)
    state = published(source, series, layout)
    if bare:
        state = {key.replace('backbone.', ''): value for key, value in state.items()
                 if not key.startswith(('head.', 'neck.'))}
    backbone = QTViT(ARCHS[series], out_indices=(2, ))
    report = load_weights(backbone, state)
    assert report.missing == report.misshaped == []
    assert torch.equal(backbone.stem[0].conv.weight, source.backbone.stem[0].conv.weight)
    assert all('stages.' in key or 'head' in key or 'neck' in key for key in report.unexpected)


def test_report_names_the_place_if_it_is_not_a_usual_one():
    model = QTViT(ARCHS['b'])
    state = model.state_dict()
    assert 'layout below net.encoder.' in str(load_weights(
        model, {f'net.encoder.{key}': value for key, value in state.items()}))
    assert 'below' not in str(load_weights(
        model, {f'module.backbone.{key}': value for key, value in state.items()}))


def test_warm_start_from_efficientvit(series):
    source = EfficientViT(ARCHS[series])
    model = QTViT(ARCHS[series])
    report = load_weights(model, source.state_dict())
    assert all(name.split('branch.')[1].startswith(
        ('kernel.', 'position_embedding.', 'value_shortcut.')) for name in report.missing)
    assert 'position_embedding.weight' in str(report) and 'stay fresh' in str(report)
    assert torch.equal(model.stem[0].conv.weight, source.stem[0].conv.weight)


def test_embedding_of_another_size_is_resized_once(series):
    source, model = QTViT(ARCHS[series]), QTViT(ARCHS[series])
    state = source.state_dict()
    for key in state:
        if key.endswith('position_embedding.weight'):
            state[key] = torch.randn(1, state[key].shape[1], 16, 16)
    report = load_weights(model, state)
    assert report.resized and all(key.endswith('position_embedding.weight')
                                  for key in report.resized)
    assert not report.misshaped


def test_files_from_before_batches_were_counted(series):
    source, model = QTViT(ARCHS[series]), QTViT(ARCHS[series])
    report = load_weights(model, {key: value for key, value in source.state_dict().items()
                                  if not key.endswith('num_batches_tracked')})
    assert not report.incomplete


@pytest.mark.parametrize('theirs, ours', [('qtvit4', 'qtvit1'), ('qtvit1', 'qtvit4'),
                                          ('qtvit2', 'qtvit1')])
def test_another_architecture(theirs, ours):
    """Shapes and names agree here and there between any two."""
    with torch.device('meta'):
        state, model = QTViT(theirs).state_dict(), QTViT(ours)
    with pytest.raises(UserError, match=r'another architecture: \d+ of \d+ entries'):
        load_weights(model, state)


@pytest.mark.parametrize('checkpoint, held', [({}, 'nothing'), ({'epoch': 3}, 'epoch'),
                                              ({1: torch.zeros(1)}, '1')])
def test_no_tensors(checkpoint, held):
    with pytest.raises(UserError, match=f'no tensors in the checkpoint; it holds {held}'):
        load_weights(QTViT(ARCHS['b']), checkpoint)


def test_nothing_fits():
    model = QTViT(ARCHS['b'])
    with pytest.raises(UserError, match=r'(?s)the file has layer1.*expected backbone\.stem.*timm'):
        load_weights(model, {'layer1.weight': torch.zeros(2)})


@pytest.mark.parametrize('arch', ['b0', 'b1', 'b2', 'b3', 'l1', 'l2', 'l3'])
def test_timm_is_the_oracle(arch):
    timm = pytest.importorskip('timm')
    torch.manual_seed(0)
    oracle = timm.create_model(f'efficientvit_{arch}').eval()
    for name, value in oracle.state_dict().items():
        if 'norm' in name and value.is_floating_point():
            value.uniform_(0.5, 1.5)
    expected = []
    for stage in oracle.stages:
        stage.register_forward_hook(lambda module, args, out: expected.append(out))
    model = EfficientViT(arch, attention=dict(type='ReLULinear', eps=1e-5)).eval()
    report = load_weights(model, oracle.state_dict())
    assert report.layout == 'timm' and not report.missing
    for size in ((224, 224), (256, 256), (192, 320)):
        images = torch.rand(1, 3, *size)
        with torch.no_grad():
            expected.clear()
            oracle.forward_features(images)
            for level, reference in zip(model(images), expected):
                assert (level - reference).norm() / reference.norm() < 1e-4
