"""Curves of training runs from the logs that mmengine writes."""

import json
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt  # noqa: E402

#: What evaluations report, best known first.
METRICS = ('mIoU', 'coco/bbox_mAP_50', 'coco/bbox_mAP', 'coco/segm_mAP', 'accuracy/top1')


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


def find_log(path: Path) -> Path:
    """Find ``scalars.json`` of the latest run below a work dir, or return a file as it is.

    Raises:
        FileNotFoundError: If there is none.
    """
    if path.is_file():
        return path
    # mmengine keeps one folder a start, named by time: the latest comes last.
    logs = sorted(path.glob('*/vis_data/scalars.json'))
    if not logs:
        raise FileNotFoundError(f'no vis_data/scalars.json below {path}; is it a work dir?')
    return logs[-1]


def read_run(path: Path) -> Run:
    """Read a run from its work dir or from ``scalars.json`` itself.

    Raises:
        FileNotFoundError: If there is no log.
        ValueError: If the file is no such log.
    """
    log = find_log(path)
    losses, metrics, iteration = [], {}, 0
    for number, line in enumerate(log.read_text().splitlines(), start=1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f'line {number} of {log} is no JSON: {line[:60]!r}') from error
        if 'loss' in record:
            # An evaluation's own "step" is an epoch in epoch-based runs, so it is placed at the
            # last iteration before it.
            iteration = record.get('iter', record['step'])
            losses.append((iteration, record['loss']))
        for name in METRICS:
            if name in record:
                metrics.setdefault(name, []).append((iteration, record[name]))
    name = path.name if path.is_dir() else path.parents[2].name
    return Run(name, losses, metrics)


def plot_runs(runs: list, out: Path) -> None:
    """Draw the losses and the best-known metric that the runs share, and write the picture.

    Args:
        runs (list[Run]): One curve each.
        out (Path): Picture file; its folder is made.

    Raises:
        ValueError: If no run has a loss, or the ending of ``out`` is no picture format.
    """
    if not any(run.losses for run in runs):
        raise ValueError('the logs hold no training losses')
    metric = next((name for name in METRICS if any(name in run.metrics for run in runs)), None)
    figure, axes = plt.subplots(
        1, 2 if metric else 1, figsize=(9 if metric else 5, 3.6), squeeze=False,
        constrained_layout=True)
    for run in runs:
        axes[0, 0].plot(*zip(*run.losses), label=run.name)
        if metric in run.metrics:
            axes[0, 1].plot(*zip(*run.metrics[metric]), marker='o', label=run.name)
    axes[0, 0].set(xlabel='iteration', ylabel='training loss', yscale='log')
    if metric:
        unit = ' (%)' if metric in ('mIoU', 'accuracy/top1') else ''
        axes[0, 1].set(xlabel='iteration', ylabel=f'{metric.rpartition("/")[-1]}{unit}')
        axes[0, 1].set_ylim(bottom=0)
    for axis in axes[0]:
        axis.grid(alpha=0.3)
    if len(runs) > 1:
        axes[0, 0].legend()
    else:
        figure.suptitle(runs[0].name)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=120)
    plt.close(figure)
