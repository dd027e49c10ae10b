"""Which stages stand in for which outputs."""

import pytest

from mmqtvit.swap.probe import Level
from mmqtvit.swap.readers import match_channels
from mmqtvit.swap.refuse import SwapRefused
from mmqtvit.swap.stages import choose_stages
from mmqtvit.toolboxes import get_toolbox

STRIDES = (4, 8, 16, 32)


def levels(*strides):
    return [Level(64 * (i + 1), stride, 4 if stride else 3) for i, stride in enumerate(strides)]


def choose(found, natural=None, scope='mmseg', **part):
    part = {'backbone': dict(type='Net'), **part}
    return choose_stages(levels(*found), levels(*(natural or found)), STRIDES,
                         get_toolbox(scope), part)


@pytest.mark.parametrize('scope', ['mmdet', 'mmseg'])
@pytest.mark.parametrize('found, stages', [
    ((4, 8, 16, 32), (0, 1, 2, 3)),
    ((8, 16, 32), (1, 2, 3)),
    ((32, ), (3, )),
])
def test_by_stride(scope, found, stages):
    assert choose(found, scope=scope) == (stages, [])


def test_a_segmentor_gets_the_depth_that_dilation_hid():
    stages, warnings = choose((4, 8, 8, 8), natural=(4, 8, 16, 32))
    assert stages == (0, 1, 2, 3)
    assert 'stride 8 by dilation becomes 32' in warnings[0]


def test_a_detector_gets_the_stride_that_its_anchors_have():
    assert choose((16, ), natural=(32, ), scope='mmdet')[0] == (2, )


def test_plain_transformer():
    stages, warnings = choose((16, 16, 16, 16))
    assert stages == (0, 1, 2, 3)
    assert '4, 8, 16, 32' in warnings[0]


def test_nearest_for_a_segmentor():
    stages, warnings = choose((2, 4, 32))
    assert stages == (0, 0, 3)
    assert '2, 4, 32 become maps at 4, 4, 32' in warnings[0]


def test_unread_stages_are_told():
    warning = 'no map of more than stride 16 is read: the later stages are not built'
    assert choose((4, 8, 16)) == ((0, 1, 2), [warning])
    assert choose((16, ), scope='mmdet') == ((2, ), [warning])


def test_a_missing_level_is_left_to_the_neck():
    stages, warnings = choose((8, 16, 32, 64), scope='mmdet', neck=dict(type='FPN', num_outs=5))
    assert stages == (1, 2, 3)
    assert 'stride 64' in warnings[0]


@pytest.mark.parametrize('found, scope, words', [
    ((8, 16, 32, 64), 'mmdet', 'at stride 64'),
    ((2, 8), 'mmdet', 'at stride 2'),
    ((4, 4), 'mmdet', 'several maps at one stride'),
    ((4, ), 'mmdet', 'at stride 4, which all layers of Net made'),
    ((16, 8, 4), 'mmseg', 'decoder of its own'),
    ((4, 8, 16, 32, 64), 'mmseg', '5 maps'),
    ((None, ), 'mmseg', 'tokens'),
    ((None, ), 'mmdet', 'tokens'),
])
def test_refuses(found, scope, words):
    with pytest.raises(SwapRefused, match=words):
        choose(found, scope=scope)


def test_a_classifier_gets_the_last_stage():
    assert choose((32, ), scope='mmpretrain') == ((3, ), [])
    assert choose((8, ), scope='mmpretrain')[0] == (3, )


@pytest.mark.parametrize('expected, translated', [
    ([64, 128, 192], [1, 2, 3]),
    ((64, 128, 192), (1, 2, 3)),
    ([192, 128, 64], [3, 2, 1]),
    ([128, 192], [2, 3]),
    (192, 3),
    (64, 1),
])
def test_match_channels(expected, translated):
    assert match_channels(expected, [64, 128, 192], [1, 2, 3], 'neck') == translated


@pytest.mark.parametrize('scope', ['mmdet', 'mmseg', 'mmpretrain'])
def test_one_of_ours_keeps_its_stages(scope):
    ours = dict(type='mmqtvit.QTViT', out_indices=(0, 0, -1))
    assert choose((4, 4, 32), scope=scope, backbone=ours) == ((0, 0, 3), [])


def test_match_channels_quotes_both():
    with pytest.raises(SwapRefused, match=r'neck expects \[1, 2\] channels.* gets \[64, 128\]'):
        match_channels([1, 2], [64, 128], [64, 128], 'neck')
