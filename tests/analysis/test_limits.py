import pytest
import torch

from mmqtvit.analysis.limits import REPEATS, Limits, measure_limits
from mmqtvit.analysis.operators import least_ms
from mmqtvit.analysis.timing import Measurement
from mmqtvit.attention import build_kernel


def test_the_tighter_bound_counts():
    kernel = build_kernel(dict(type='ReLULinear'), 4)
    moved, macs = 4 * 2 * 4 * 15 * 4, 2 * 15 * 4 * 9
    assert Limits(bytes=10., macs=1e9).seconds(kernel, 2, 15, 4) == moved / 10
    assert Limits(bytes=1e9, macs=10.).seconds(kernel, 2, 15, 4) == macs / 10
    assert Limits(bytes=10., macs=1e9).seconds(kernel, 2, 15, 2) == moved / 20


def test_limits_of_a_measurement():
    labels = {'kernel': 'literal', 'size': '3x5', 'dtype': 'bfloat16', 'pass': 'forward'}
    limits = Limits(bytes=1e3, macs=1e9)
    assert least_ms(limits, 2, 4, Measurement(labels, [1.], 0, None)) == 4 * 2 * 4 * 15 * 2
    train = dict(labels, **{'pass': 'train'})
    assert least_ms(limits, 2, 4, Measurement(train, [1.], 0, None)) is None


def test_measuring(monkeypatch):
    seconds = iter([9.] + [2.] * REPEATS + [9.] + [4.] * REPEATS)  # warm-ups do not count
    monkeypatch.setattr('mmqtvit.analysis.limits.timed', lambda call, device: next(seconds))
    limits = measure_limits(torch.device('cpu'))
    assert limits.bytes == pytest.approx(2**25 * 4 * 2 / 2)
    assert limits.macs == pytest.approx(1024**3 / 4)
