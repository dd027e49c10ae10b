import pytest
import timm
import torch

from mmqtvit import EfficientViT, QTViT

BUILDERS = {
    # The control: what works on timm's model works on ours.
    'timm': lambda: timm.create_model('efficientvit_b1', features_only=True),
    'qtvit1': lambda: QTViT('qtvit1'),
    'qtvit4': lambda: QTViT('qtvit4'),
    'b1': lambda: EfficientViT('b1'),
}


@pytest.fixture(params=BUILDERS)
def name(request):
    return request.param


@pytest.fixture
def model(name):
    torch.manual_seed(0)
    return BUILDERS[name]().eval()


@pytest.fixture(params=[(96, 96), (64, 160)], ids=['square', 'wide'])
def x(request):
    return torch.rand(1, 3, *request.param, generator=torch.Generator().manual_seed(0))
