"""Measurements as a table, as a file and as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from .figure import plt, save_figure
from .tables import table, write_csv, write_json
from .timing import Measurement, Schedule, ratios


def describe(measurements: Sequence, schedule: Schedule, conditions: dict, within: Sequence,
             more: Optional[dict] = None) -> str:
    """Write measurements as a table under their conditions.

    Args:
        measurements (Sequence[Measurement]): All of one run.
        schedule (Schedule): How often was measured.
        conditions (dict): From :func:`mmqtvit.analysis.machine.conditions`, and the like.
        within (Sequence[str]): Columns within which times are compared with the first.
        more (dict[str, Callable], optional): Further columns, from a measurement. Defaults to None.
    """
    more = more or {}
    header = [*measurements[0].labels, 'median, ms', 'quartiles, ms', 'calls', 'ratio', *more,
              'peak, MB']
    rows = [[*measurement.labels.values(), measurement.median * 1e3, _quartiles(measurement),
             len(measurement.times), round(ratio, 3),
             *(column(measurement) for column in more.values()), _megabytes(measurement.peak)]
            for measurement, ratio in zip(measurements, ratios(measurements, within))]
    notes = [f'Ratio: to the first one of the same {", ".join(within)}. Peak: tensors above what '
             'was there before the call.']
    if any(measurement.kept is not None for measurement in measurements):
        header.append('kept for backward, MB')
        rows = [[*row, _megabytes(measurement.kept)]
                for row, measurement in zip(rows, measurements)]
        notes.append('Kept: beyond inputs and parameters.')
    return '\n'.join([
        ', '.join(f'{name} {value}' for name, value in conditions.items()),
        f'{schedule.warmup} warm-up calls, up to {schedule.repeats} that count, in turns', '',
        table(header, rows), '', ' '.join(notes)])


def _quartiles(measurement: Measurement) -> str:
    return ' to '.join(f'{seconds * 1e3:.4g}' for seconds in measurement.quartiles)


def _megabytes(size: Optional[int]) -> Optional[float]:
    return None if size is None else size / 1e6


def save(measurements: Sequence, schedule: Schedule, conditions: dict, path: Path) -> None:
    """Write measurements to a file, ``.csv`` without the conditions, else JSON with all times."""
    records = [measurement.record() for measurement in measurements]
    if path.suffix != '.csv':
        records = [dict(record, times_s=measurement.times)
                   for record, measurement in zip(records, measurements)]
    save_records(records, schedule, conditions, path)


def save_records(records: Sequence, schedule: Schedule, conditions: dict, path: Path) -> None:
    """Write dicts of the same keys to a file, ``.csv`` without the conditions, else JSON."""
    if path.suffix == '.csv':
        write_csv(path, records)
    else:
        write_json(path, dict(conditions=conditions, schedule=schedule._asdict(), results=records))


def plot_ratios(measurements: Sequence, conditions: dict, path: Path) -> None:
    """Draw bars of times over the first model's: a panel for each dtype and pass.

    The lines on the bars are from the first to the third quartile, the numbers are medians in ms.

    Args:
        measurements (Sequence[Measurement]): With labels model, mode, size, dtype and pass.
        conditions (dict): For the title.
        path (Path): Picture to write.
    """
    panels = _group(measurements, 'dtype', 'pass')
    variants = _group(measurements, 'model', 'mode')
    sizes = list(_group(measurements, 'size'))
    width = 0.8 / len(variants)
    figure, axes = plt.subplots(
        1, len(panels), figsize=(max(4, 1 + 0.5 * len(sizes) * len(variants)) * len(panels), 4.2),
        squeeze=False, sharey=True, constrained_layout=True)
    for axis, (panel, members) in zip(axes[0], panels.items()):
        for measurement, ratio in zip(members, ratios(members, ['size'])):
            labels = measurement.labels
            number = list(variants).index((labels['model'], labels['mode']))
            place = sizes.index((labels['size'], )) + (number + 0.5) * width - 0.4
            low, high = (ratio * abs(1 - quartile / measurement.median)
                         for quartile in measurement.quartiles)
            axis.bar(place, ratio, width, yerr=[[low], [high]], capsize=2, color=f'C{number}')
            axis.annotate(f'{measurement.median * 1e3:.3g}', (place, ratio + high), (0, 2),
                          textcoords='offset points', ha='center', size=8)
        axis.set(title=', '.join(panel), xlabel='image, pixels')
        axis.set_xticks(range(len(sizes)), [size.replace('x', '×') for size, in sizes])
        axis.grid(axis='y', alpha=0.3)
    axes[0, 0].set_ylabel("time over the first one's; numbers: ms")
    figure.suptitle(in_short(conditions), size=9)
    figure.legend(
        [plt.Rectangle((0, 0), 1, 1, color=f'C{number}') for number in range(len(variants))],
        [', '.join(variant) for variant in variants], loc='outside lower center')
    save_figure(figure, path)


def in_short(conditions: dict) -> str:
    """Say in a line where was measured, for the title of a picture."""
    device = conditions['device']
    return (f'{conditions["processor"] if device == "cpu" else device}, threads: '
            f'{conditions["threads"]}, PyTorch {conditions["torch"]}')


def _group(measurements: Sequence, *names: str) -> dict:
    groups = {}
    for measurement in measurements:
        groups.setdefault(tuple(measurement.labels[name] for name in names), []).append(measurement)
    return groups
