import pytest

from mmqtvit import EfficientViT, QTViT

# Published classifiers in millions, their heads taken away: 1×1 convolution to a, norm,
# linear to b, layer norm, linear to 1000 classes with bias.
CLASSIFIERS = {
    'qtvit1': (9.353, 1536, 1600),
    'qtvit2': (24.858, 2304, 2560),
    'qtvit3': (49.701, 2304, 2560),
    'qtvit4': (52.956, 3072, 3200),
    'qtvit5': (64.109, 3072, 3200),
    'qtvit6': (246.841, 6144, 6400),
}


@pytest.mark.parametrize('arch', CLASSIFIERS)
def test_parameter_counts(arch):
    published, a, b = CLASSIFIERS[arch]
    model = QTViT(arch)
    head = model.out_channels[-1] * a + 2 * a + a * b + 2 * b + b * 1000 + 1000
    count = sum(p.numel() for p in model.parameters())
    assert round((count + head) / 1e6, 3) == published


def test_widths_are_published_as_out_channels():
    for backbone in (QTViT, EfficientViT):
        for name, arch in backbone.ARCHS.items():
            if name not in ('qtvit6', 'l3'):  # big; the same code
                assert backbone(name).out_channels == tuple(arch['widths'][1:])


def test_embedding_can_be_left_out():
    names = [name for name, _ in QTViT('qtvit1', position_embedding=False).named_parameters()]
    assert not any('position_embedding' in name for name in names)
    assert any('kernel.constant' in name for name in names)
