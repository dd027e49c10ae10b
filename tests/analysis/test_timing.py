from types import SimpleNamespace

import pytest
import torch

from mmqtvit.analysis.timing import Case, Measurement, Schedule, measure, ratios, timed

CPU = torch.device('cpu')


def recorder(calls, name):
    return Case(dict(model=name), lambda: calls.append(name))


def test_cases_take_turns():
    calls = []
    cases = [recorder(calls, 'a'), recorder(calls, 'b')]
    measured = measure(cases, CPU, Schedule(warmup=2, repeats=3))
    assert ''.join(calls) == 'aabb' + 'ababab' + 'ab'  # the last ones for the memory
    assert [len(measurement.times) for measurement in measured] == [3, 3]
    assert [measurement.labels['model'] for measurement in measured] == ['a', 'b']


@pytest.fixture()
def clock(monkeypatch):
    """Time passes only where a test says so."""
    now = SimpleNamespace(seconds=0.)
    monkeypatch.setattr('time.perf_counter', lambda: now.seconds)
    return now


def lasting(clock, seconds):
    def call():
        clock.seconds += seconds
    return Case({}, call)


def test_seconds(clock):
    assert timed(lasting(clock, 3.).run, CPU) == 3.


def test_a_slow_case_has_fewer_calls(clock):
    measured = measure([lasting(clock, 5.), lasting(clock, 1.)], CPU, Schedule(3, 6, 12.))
    assert [measurement.times for measurement in measured] == [[5.] * 2, [1.] * 6]
    assert measure([lasting(clock, 99.)], CPU, Schedule(1, 5, 1.))[0].times == [99.]


def test_median_and_quartiles():
    measurement = Measurement({}, [5., 1., 2., 3., 4.], None, None)
    assert measurement.median == 3. and measurement.quartiles == (2., 4.)
    single = Measurement(dict(model='a'), [7.], 8, None)
    assert single.quartiles == (7., 7.)
    assert single.record() == dict(model='a', median_s=7., first_quartile_s=7.,
                                   third_quartile_s=7., repeats=1, peak_bytes=8, kept_bytes=None)


def test_ratios_are_to_the_first_of_the_same_size():
    seconds = dict(a1=2., b1=3., a2=4., b2=2.)
    measured = [Measurement(dict(model=name[0], size=name[1]), [value], None, None)
                for name, value in seconds.items()]
    assert list(ratios(measured, ['size'])) == [1, 1.5, 1, 0.5]


def test_memory_of_a_training_step():
    x = torch.rand(1000, requires_grad=True)
    case = Case({}, lambda: (x * 2).exp().sum().backward(), lambda: (x * 2).exp().sum(), [x])
    measurement, = measure([case], CPU, Schedule(1, 1))
    assert measurement.kept == 4000 and measurement.peak >= 4000
