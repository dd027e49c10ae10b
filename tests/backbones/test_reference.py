"""The published models' features, from their own weights."""

import numpy as np
import pytest
import torch

from mmqtvit import EfficientViT, QTViT
from tests.published import to_own_keys

ARCHS = {
    'b': dict(series='b', widths=[8, 16, 32, 64, 128], depths=[1, 2, 2, 2, 2], head_dim=16),
    'l': dict(series='l', widths=[8, 16, 32, 64, 128], depths=[1, 1, 1, 2, 2], head_dim=32),
}


@pytest.mark.parametrize('side', [224, 256])
@pytest.mark.parametrize('series', ['b', 'l'])
@pytest.mark.parametrize('backbone', [QTViT, EfficientViT])
def test_features_equal_the_published(shared, backbone, series, side):
    folder = shared / 'reference'
    name = f'{backbone.__name__.lower()}_{series}_small'
    checkpoint = torch.load(folder / f'{name}.pt', weights_only=True)
    model = backbone(ARCHS[series]).eval()
    model.load_state_dict(to_own_keys(checkpoint['state_dict'], series))
    reference = np.load(folder / f'{name}.npz')
    with torch.no_grad():
        maps = model(torch.from_numpy(reference[f'input_{side}']))
    for stage, level in enumerate(maps, start=1):
        expected = torch.from_numpy(reference[f'stage{stage}_{side}'])
        torch.testing.assert_close(level, expected, rtol=0, atol=2e-5)
