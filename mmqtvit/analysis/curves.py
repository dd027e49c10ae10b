"""Curves of training runs from the logs that mmengine writes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Optional

from .figure import plt

#: Metrics that are drawn before others of the same log, best known first.
BEST_KNOWN = ('mIoU', 'coco/bbox_mAP_50', 'coco/bbox_mAP', 'coco/segm_mAP', 'accuracy/top1',
              'mFscore', 'mDice')
PERCENT = ('mIoU', 'accuracy/top1', 'mFscore', 'mDice')

#: What a log says beside losses and metrics.
NO_METRICS = ('step', 'iter', 'epoch', 'time', 'data_time', 'memory')


class Run(NamedTuple):
    """One training run.

    Args:
        name (str): Name of its work dir.
        losses (list[tuple[int, float]]): Iteration and total loss.
        metrics (dict[str, list[tuple[int, float]]]): Iteration and value by name.
    """
    name: str
    losses: list
    metrics: dict

    @property
    def best_known(self) -> Optional[str]:
        """str | None: The first of ``BEST_KNOWN`` that was reported, else the first reported."""
        reported = [name for name, points in self.metrics.items() if points]
        return next((name for name in (*BEST_KNOWN, *reported) if name in reported), None)


def find_logs(path: Path) -> list:
    """Find the ``scalars.json`` of each start of a run in its work dir, or take a file as it is.

    Raises:
        FileNotFoundError: If there is none.
    """
    if path.is_file():
        return [path]
    # mmengine keeps one folder a start, named by time: the latest comes last.
    logs = sorted(path.glob('*/vis_data/scalars.json'))
    if not logs:
        raise FileNotFoundError(f'no vis_data/scalars.json below {path}; is it a work dir?')
    return logs


def _read_log(log: Path) -> tuple:
    """Losses and metrics of one start, as :class:`Run` has them."""
    losses, metrics, iteration, by_epoch = [], {}, 0, False
    lines = log.read_text().splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            if number == len(lines) and line.startswith('{'):  # not written to its end
                break
            raise ValueError(f'line {number} of {log} is no JSON: {line[:60]!r}') from error
        if not isinstance(record, dict) or ('step' not in record and
                                            (record.get('loss') or _metrics(record))):
            raise ValueError(f"line {number} of {log} is no record with a 'step': {line[:60]!r}")
        if 'loss' in record:
            iteration = record.get('iter', record['step'])
            by_epoch = 'epoch' in record
            losses.append((iteration, record['loss']))
        for name, value in _metrics(record).items():
            # The "step" of an evaluation is an epoch in epoch-based runs, so it is placed at the
            # last iteration before it.
            place = iteration if by_epoch else record['step']
            metrics.setdefault(name, []).append((place, value))
    return losses, metrics


def _metrics(record: dict) -> dict:
    """The numbers of an evaluation by name; none of a line that training wrote."""
    if 'loss' in record or 'lr' in record:
        return {}
    return {name: value for name, value in record.items()
            if name not in NO_METRICS and isinstance(value, (int, float))}


def read_run(path: Path) -> Run:
    """Read a run from its work dir, with all its starts, or from one ``scalars.json``.

    A resumed run goes on from a checkpoint: what an earlier start did after that does not count. So
    a run that began anew replaces the one before it.

    Raises:
        FileNotFoundError: If there is no log.
        ValueError: If a file is no such log.
    """
    path = path.resolve()
    folders = [path, *path.parents]  # a log lies three below its work dir
    work_dir = path if path.is_dir() else folders[min(3, len(folders) - 1)]
    run = Run(work_dir.name or path.stem, [], {})
    for log in find_logs(path):
        losses, metrics = _read_log(log)
        if not losses:  # stopped before its first line
            continue
        first = losses[0][0]
        earlier = {name: [point for point in points if point[0] < first]
                   for name, points in run.metrics.items()}
        metrics = {name: earlier.get(name, []) + metrics.get(name, [])
                   for name in {**earlier, **metrics}}
        losses = [point for point in run.losses if point[0] < first] + losses
        run = Run(run.name, losses, metrics)
    return run


def describe(runs: Sequence) -> str:
    """Say by run which metric is drawn, and which others its log holds."""
    lines = []
    for run in runs:
        others = [name for name, points in run.metrics.items() if points and name != run.best_known]
        drawn = run.best_known or 'the loss alone, as the log holds no evaluation'
        rest = f'; not drawn: {", ".join(others)}' if others else ''
        lines.append(f'{run.name}: {drawn}{rest}')
    return '\n'.join(lines)


def plot_runs(runs: list, out: Path) -> None:
    """Draw the losses and each run's best-known metric, and write the picture.

    Args:
        runs (list[Run]): One curve each; those of one metric share a panel.
        out (Path): Picture file; its folder is made.

    Raises:
        ValueError: If no run has a loss, or the ending of ``out`` is no picture format.
    """
    if not any(run.losses for run in runs):
        raise ValueError('the logs hold no training losses')
    metrics = list(dict.fromkeys(run.best_known for run in runs if run.best_known))
    figure, axes = plt.subplots(
        1, 1 + len(metrics), figsize=(5 + 4 * len(metrics), 3.6), squeeze=False,
        constrained_layout=True)
    for number, run in enumerate(runs):
        colour = f'C{number}'
        axes[0, 0].plot(*zip(*run.losses), label=run.name, color=colour)
        if metric := run.best_known:
            axes[0, 1 + metrics.index(metric)].plot(
                *zip(*run.metrics[metric]), marker='o', color=colour)
    axes[0, 0].set(xlabel='iteration', ylabel='training loss', yscale='log')
    for axis, metric in zip(axes[0, 1:], metrics):
        unit = ' (%)' if metric in PERCENT else ''
        axis.set(xlabel='iteration', ylabel=f'{metric.rpartition("/")[-1]}{unit}',
                 ylim=(0, 1.1 * axis.dataLim.ymax or 1))
    for axis in axes[0]:
        axis.set_xlim(left=0)
        axis.grid(alpha=0.3)
    if len(runs) > 1:
        axes[0, 0].legend()
    else:
        figure.suptitle(runs[0].name)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=120)
    plt.close(figure)
