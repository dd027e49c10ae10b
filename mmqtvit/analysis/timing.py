"""Times of several calls, measured in turns."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Optional

import torch
from torch import Tensor
from tqdm import tqdm

from .memory import kept_for_backward, peak_memory


class Case(NamedTuple):
    """Something to measure.

    Args:
        labels (dict[str, str]): What tells it from the others, by column of the table.
        run (Callable): One call, without arguments.
        forward (Callable, optional): In a training step, its forward pass, without arguments.
            Defaults to None.
        existing (Sequence[Tensor]): What the backward pass need not keep: parameters and inputs.
            Defaults to ().
    """
    labels: dict
    run: Callable
    forward: Optional[Callable[[], Tensor]] = None
    existing: Sequence = ()


class Measurement(NamedTuple):
    """What a case took.

    Args:
        labels (dict[str, str]): Of the case.
        times (list[float]): Seconds of each call.
        peak (int, optional): Bytes above what was there before the call.
        kept (int, optional): Bytes kept from the forward for the backward pass.
    """
    labels: dict
    times: list
    peak: Optional[int]
    kept: Optional[int]

    @property
    def median(self) -> float:
        """float: Seconds."""
        return statistics.median(self.times)

    @property
    def quartiles(self) -> tuple[float, float]:
        """tuple[float, float]: First and third quartile, in seconds."""
        if len(self.times) == 1:
            return self.times[0], self.times[0]
        first, _, third = statistics.quantiles(self.times, n=4, method='inclusive')
        return first, third

    def record(self) -> dict:
        """Sum up as one flat dict, as a line of CSV or JSON has it."""
        first, third = self.quartiles
        return dict(self.labels, median_s=self.median, first_quartile_s=first,
                    third_quartile_s=third, repeats=len(self.times), peak_bytes=self.peak,
                    kept_bytes=self.kept)


class Schedule(NamedTuple):
    """How often a case is called.

    Args:
        warmup (int): Calls before the first that counts, one at least, which compiles what is to
            be compiled. Defaults to 3.
        repeats (int): Calls that count. Defaults to 20.
        max_seconds (float): A case that is too slow for ``repeats`` calls in this time has fewer,
            one at least, and a shorter warm-up. Defaults to 60.
    """
    warmup: int = 3
    repeats: int = 20
    max_seconds: float = 60.


def timed(call: Callable, device: torch.device) -> float:
    """Seconds of one call, by the device's own clock where it has events."""
    if device.type == 'cpu':
        start = time.perf_counter()
        call()
        return time.perf_counter() - start
    backend = getattr(torch, device.type)
    start, end = (backend.Event(enable_timing=True) for _ in range(2))
    backend.synchronize()
    start.record()
    call()
    end.record()
    backend.synchronize()
    return start.elapsed_time(end) / 1000


def measure(cases: Sequence, device: torch.device, schedule: Schedule,
            bar: Optional[tqdm] = None) -> list:
    """Time cases in turns, A B C A B C …, so that other work on the machine slows all of them.

    Memory is measured afterwards, as watching it takes time.

    Args:
        cases (Sequence[Case]): What to measure.
        device (torch.device): Where they compute.
        schedule (Schedule): How often.
        bar (tqdm, optional): Progress, moved on once for each case. Defaults to None.

    Returns:
        list[Measurement]: One for each case.
    """
    rounds = [_warm_up(case, device, schedule, bar) for case in cases]
    times = [[] for _ in cases]
    for turn in range(max(rounds)):
        for case, own_rounds, own_times in zip(cases, rounds, times):
            if turn < own_rounds:
                own_times.append(timed(case.run, device))
        _say(bar, f'{cases[0].labels.get("size", "")} turn {turn + 1} of {max(rounds)}')
    measurements = []
    for case, own_times in zip(cases, times):
        peak = peak_memory(case.run, device)
        kept = case.forward and kept_for_backward(case.forward, case.existing)
        measurements.append(Measurement(case.labels, own_times, peak, kept))
        if bar is not None:
            bar.update()
    return measurements


def _warm_up(case: Case, device: torch.device, schedule: Schedule, bar: Optional[tqdm]) -> int:
    """Call a case until it is warm and return how many calls there is time for."""
    _say(bar, ' '.join(map(str, case.labels.values())))
    seconds = timed(case.run, device)  # may compile
    for _ in range(schedule.warmup - 1):
        seconds = timed(case.run, device)
        if seconds * schedule.warmup > schedule.max_seconds:
            break
    return max(1, min(schedule.repeats, int(schedule.max_seconds / seconds)))


def _say(bar: Optional[tqdm], text: str) -> None:
    if bar is not None:
        bar.set_postfix_str(text)


def ratios(measurements: Sequence, of: Sequence) -> Iterator[float]:
    """Yield each median over that of the first that has the same values in the columns ``of``.

    Args:
        measurements (Sequence[Measurement]): All of one run.
        of (Sequence[str]): Columns within which is compared.
    """
    baselines = {}
    for measurement in measurements:
        key = tuple(measurement.labels.get(column) for column in of)
        yield measurement.median / baselines.setdefault(key, measurement.median)
