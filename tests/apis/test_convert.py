
import pytest
import torch

from mmqtvit import EfficientViT, QTViT
from mmqtvit.apis.convert import Classifier, convert_checkpoint
from mmqtvit.backbones.qtvit import QTVIT_NAMES
from mmqtvit.errors import UserError
from mmqtvit.weights.load import unwrap
from tests.weights.published import published_shapes, published_state_dict

# Published classifiers, in millions.
PARAMETERS = {'qtvit1': 9.353, 'qtvit2': 24.858, 'qtvit3': 49.701, 'qtvit4': 52.956,
              'qtvit5': 64.109, 'qtvit6': 246.841}


@pytest.mark.parametrize('arch', [*QTVIT_NAMES, *QTVIT_NAMES.values()])
def test_published_names_and_shapes(arch):
    """A whole published file, made from its description, is taken without a remainder."""
    published = published_state_dict(QTVIT_NAMES.get(arch, arch), arch in QTVIT_NAMES)
    conversion = convert_checkpoint({'state_dict': published})
    report = conversion.report
    assert (conversion.arch, report.layout) == (arch, 'published')
    assert report.missing == report.unexpected == report.misshaped == report.resized == []
    with torch.device('meta'):
        Classifier(arch).load_state_dict(conversion.state_dict, strict=True)
    if arch in PARAMETERS:
        count = sum(value.numel() for key, value in published.items()
                    if not key.endswith(('running_mean', 'running_var', 'tracked')))
        assert round(count / 1e6, 3) == PARAMETERS[arch]


@pytest.mark.parametrize('qtvit', [False, True])
@pytest.mark.parametrize('series', ['b', 'l'])
def test_the_description_is_that_of_the_published_files(shared, series, qtvit):
    name = ('qtvit' if qtvit else 'efficientvit') + f'_{series}_small'
    published = unwrap(torch.load(shared / f'reference/{name}.pt', weights_only=True))
    assert {key: tuple(value.shape) for key, value in published.items()} == (
        published_shapes(f'{series}_small', qtvit, num_classes=10))


@pytest.mark.parametrize('arch', ['qtvit1', 'b1', 'b0'])
@pytest.mark.parametrize('layout', ['published', 'timm'])
def test_there_and_back(arch, layout):
    state_dict = Classifier(arch, num_classes=10).state_dict()
    there = convert_checkpoint(state_dict, layout)
    back = convert_checkpoint(there.state_dict)
    assert there.arch == arch and back.report.layout == layout
    assert list(back.state_dict) == list(state_dict)
    assert all(torch.equal(back.state_dict[key], value) for key, value in state_dict.items())
    assert back.sources == {ours: theirs for theirs, ours in there.sources.items()}


def test_backbone_only():
    state_dict = Classifier('b0').state_dict()
    backbone = convert_checkpoint(state_dict, backbone_only=True).state_dict
    assert list(backbone) == list(EfficientViT('b0').state_dict())
    again = convert_checkpoint(backbone)
    assert again.arch == 'b0' and list(again.state_dict) == list(backbone)


def test_left_over_entries_are_told():
    state_dict = {**Classifier('b0').state_dict(), 'extra.weight': torch.zeros(1)}
    assert convert_checkpoint(state_dict).report.unexpected == ['extra.weight']


def test_not_a_whole_model():
    state_dict = QTViT('qtvit1').state_dict()
    del state_dict['stem.0.conv.weight']
    with pytest.raises(UserError, match='no whole model of qtvit1, '):
        convert_checkpoint(state_dict)
    with pytest.raises(UserError, match='no whole model of qtvit2; it has stem'):
        convert_checkpoint(QTViT('qtvit1').state_dict(), arch='qtvit2')
