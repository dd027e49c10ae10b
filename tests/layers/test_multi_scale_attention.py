import pytest
import torch
import torch.nn.functional as F

from mmqtvit.attention.kernel import saturating_sum
from mmqtvit.layers import MultiScaleAttention
from mmqtvit.layers.multi_scale_attention import ValueShortcut

NORM_CFG = dict(type='BN', eps=1e-7)


@pytest.mark.parametrize('size', [(1, 1), (3, 7), (4, 4)])
def test_value_shortcut_in_training_equals_the_formula(size):
    torch.manual_seed(0)
    shortcut = ValueShortcut(8, NORM_CFG).train()
    torch.nn.init.normal_(shortcut.norm.weight)
    v = torch.randn(2, 3, 8, size[0] * size[1])
    mean = v.mean((0, 1, 3), keepdim=True)
    variance = v.var((0, 1, 3), keepdim=True, unbiased=False)
    weight = shortcut.norm.weight.view(1, 1, 8, 1)
    expected = F.gelu((v - mean) / (variance + 1e-7).sqrt() * weight)
    torch.testing.assert_close(shortcut(v, size), expected)


def test_groups_hold_their_own_q_k_v():
    """Group g reads channels 3gd to 3(g+1)d, in the order q, k, v."""
    torch.manual_seed(0)
    attention = MultiScaleAttention(
        16, 8, dict(type='ReLULinear'), NORM_CFG, native_size=7, value_shortcut=True).eval()
    torch.nn.init.normal_(attention.position_embedding.weight)
    x = torch.randn(2, 16, 5, 6)
    qkv = attention.qkv(x)
    qkv = torch.cat([qkv, attention.aggregations[0](qkv)], 1)
    groups = []
    embedding = attention.position_embedding.resized((5, 6))
    for g in range(4):
        q, k, v = (qkv[:, (3 * g + i) * 8:(3 * g + i + 1) * 8].flatten(2)[:, None]
                   for i in range(3))
        out = attention.kernel(q, k + embedding[:, 8 * g:8 * g + 8].flatten(2)[:, None], v, (5, 6))
        groups.append(out + attention.value_shortcut(v, (5, 6)))
    expected = attention.proj(torch.cat(groups, 1).reshape(2, 32, 5, 6))
    torch.testing.assert_close(attention(x), expected, rtol=1e-5, atol=1e-5)


def test_more_scales_make_more_groups():
    attention = MultiScaleAttention(16, 8, dict(type='ReLULinear'), NORM_CFG, scales=(3, 5))
    assert attention.num_groups == 6
    assert attention(torch.randn(2, 16, 4, 5)).shape == (2, 16, 4, 5)


def test_sums_beyond_float16_saturate():
    x = torch.tensor([6e4, -6e4, 1.]).half()
    total = saturating_sum(x, x)
    assert total.tolist() == [65504, -65504, 2]
