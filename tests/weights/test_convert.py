import hashlib

import pytest
import torch

from mmqtvit import EfficientViT, QTViT
from mmqtvit.errors import UserError
from mmqtvit.weights.convert import Classifier, convert_checkpoint, save_with_hash

# Published classifiers, in millions.
PARAMETERS = {'qtvit1': 9.353, 'qtvit2': 24.858, 'qtvit3': 49.701, 'qtvit4': 52.956,
              'qtvit5': 64.109, 'qtvit6': 246.841}


@pytest.mark.parametrize('arch', PARAMETERS)
def test_published_sizes_and_names(arch):
    """A whole published file, made from the specification, is taken without a remainder."""
    with torch.device('meta'):
        model = Classifier(arch)
    assert round(sum(p.numel() for p in model.parameters()) / 1e6, 3) == PARAMETERS[arch]
    published, _, _ = convert_checkpoint(model.state_dict(), 'published', arch)
    assert all(key.startswith(('backbone.', 'head.op_list.')) for key in published)
    _, report, found = convert_checkpoint({'state_dict': published})
    assert found == arch
    assert report.missing == report.unexpected == report.misshaped == []


@pytest.mark.parametrize('arch', ['qtvit1', 'b1', 'b0'])
@pytest.mark.parametrize('layout', ['published', 'timm'])
def test_there_and_back(arch, layout):
    state_dict = Classifier(arch, num_classes=10).state_dict()
    there, _, found = convert_checkpoint(state_dict, layout)
    back, report, _ = convert_checkpoint(there)
    assert found == arch and report.layout == layout
    assert list(back) == list(state_dict)
    assert all(torch.equal(back[key], value) for key, value in state_dict.items())


def test_backbone_only():
    state_dict = Classifier('b0').state_dict()
    backbone, _, _ = convert_checkpoint(state_dict, backbone_only=True)
    assert list(backbone) == list(EfficientViT('b0').state_dict())
    again, _, arch = convert_checkpoint(backbone)
    assert arch == 'b0' and list(again) == list(backbone)


def test_left_over_entries_are_told():
    state_dict = {**Classifier('b0').state_dict(), 'extra.weight': torch.zeros(1)}
    _, report, _ = convert_checkpoint(state_dict)
    assert report.unexpected == ['extra.weight']


def test_not_a_whole_model():
    state_dict = QTViT('qtvit1').state_dict()
    del state_dict['stem.0.conv.weight']
    with pytest.raises(UserError, match='no whole model of qtvit1, '):
        convert_checkpoint(state_dict)
    with pytest.raises(UserError, match='no whole model of qtvit2; its first keys'):
        convert_checkpoint(QTViT('qtvit1').state_dict(), arch='qtvit2')


def test_hash_in_the_name(tmp_path):
    path = save_with_hash({'a': torch.zeros(1)}, tmp_path / 'new' / 'model.pth')
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert path.name == f'model-{digest[:8]}.pth'
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert torch.load(path, weights_only=True)['state_dict'].keys() == {'a'}
