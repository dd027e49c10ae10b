"""Train one config with several attention kernels and seeds, and compare the results."""

import subprocess
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple, Optional

from tqdm import tqdm

from ..attention import KERNELS, AttentionKernel
from ..errors import UserError
from . import operators
from .curves import read_run
from .models import BACKBONE, build_model, parse_kernel
from .tables import table

#: File in a work dir that says with which command its training was finished.
DONE = 'done.txt'


class Trial(NamedTuple):
    """One training.

    Args:
        kernel (str): Name and options, as 'ReLULinear:eps=1e-5'.
        seed (int): Of the random numbers.
        work_dir (Path): Where it writes.
        command (list[str]): What trains it.
    """
    kernel: str
    seed: int
    work_dir: Path
    command: list


class Result(NamedTuple):
    """The result of one training.

    Args:
        kernel (str): Name and options.
        seed (int): Of the random numbers.
        metric (str): Name of the metric.
        value (float): Of the last evaluation.
        loss (float): Mean over the last tenth of the logged ones.
    """
    kernel: str
    seed: int
    metric: str
    value: float
    loss: float


def plan(train: Sequence, config: str, kernels: Sequence, seeds: Sequence, root: Path,
         options: Sequence = ()) -> list:
    """List the trainings, all kernels with the first seed first.

    Args:
        train (Sequence[str]): Command that trains, without arguments.
        config (str): A config with a backbone of this package.
        kernels (Sequence[str]): Names of ``KERNELS``, with options as 'ReLULinear:eps=1e-5'.
        seeds (Sequence[int]): Seeds of the random numbers.
        root (Path): Folder of the work dirs.
        options (Sequence[str]): Further ``key=value`` pairs for the config. Defaults to ().

    Returns:
        list[Trial]: One for each kernel and seed.

    Raises:
        UserError: If the config has no such backbone, or a kernel or an option is unknown.
    """
    backbone = build_model(config + BACKBONE)
    head_dims = {m.head_dim for m in backbone.modules() if isinstance(m, AttentionKernel)}
    if not head_dims:
        raise UserError(f'the backbone of {config}, {type(backbone).__name__}, has no attention '
                        'kernel to exchange')
    for kernel, head_dim in product(kernels, head_dims):  # before anything takes time
        operators.build(kernel, head_dim)
    trials = []
    for seed, kernel in product(seeds, kernels):
        work_dir = root / f'{kernel.replace(":", "-")}-seed{seed}'
        attention = _pairs('model.backbone.attention', parse_kernel(kernel, list(KERNELS)))
        trials.append(Trial(kernel, seed, work_dir, [
            *train, config, '--resume', '--work-dir', str(work_dir), '--cfg-options', *options,
            f'randomness.seed={seed}', *attention]))
    return trials


def _pairs(prefix: str, options: dict) -> Iterator[str]:
    for key, value in options.items():
        if isinstance(value, dict) and value:
            yield from _pairs(f'{prefix}.{key}', value)
        else:
            yield f'{prefix}.{key}={value}'


def run(trials: Sequence) -> None:
    """Train what is not yet trained; an interrupted training goes on from its last checkpoint.

    Args:
        trials (Sequence[Trial]): From :func:`plan`.

    Raises:
        UserError: If a training fails, or a work dir is of another command.
    """
    waiting = [trial for trial in trials if not _is_done(trial)]
    with tqdm(total=len(trials), initial=len(trials) - len(waiting), unit='run') as bar:
        for trial in waiting:
            bar.set_description(f'{trial.kernel}, seed {trial.seed}')
            trial.work_dir.mkdir(parents=True, exist_ok=True)
            ended = subprocess.run(trial.command, stdout=subprocess.DEVNULL,  # it keeps a log
                                   stderr=subprocess.PIPE, text=True)
            if ended.returncode:
                raise UserError(f'{" ".join(trial.command)} ended with status {ended.returncode}:\n'
                                f'{ended.stderr[-2000:]}')
            (trial.work_dir / DONE).write_text(_signature(trial))
            bar.update()


def _signature(trial: Trial) -> str:
    """What was trained: the command from the options on."""
    return '\n'.join(trial.command[trial.command.index('--cfg-options') + 1:]) + '\n'


def _is_done(trial: Trial) -> bool:
    done = trial.work_dir / DONE
    if not done.is_file():
        return False
    if done.read_text() != _signature(trial):
        raise UserError(f'{trial.work_dir} was trained with other options, those in its {DONE}; '
                        'choose another --work-dir, or remove it')
    return True


def read_result(trial: Trial) -> Result:
    """Read the result of a finished training.

    Raises:
        UserError: If its logs hold no evaluation.
    """
    try:
        trained = read_run(trial.work_dir)
    except (OSError, ValueError) as error:
        raise UserError(error) from error
    metric = trained.best_known
    if metric is None:
        raise UserError(f'the logs in {trial.work_dir} hold no evaluation; is there a '
                        'val_evaluator, and a train_cfg.val_interval that is reached?')
    losses = [loss for _, loss in trained.losses]
    return Result(trial.kernel, trial.seed, metric, trained.metrics[metric][-1][1],
                  mean(losses[-max(1, len(losses) // 10):]))


def describe(results: Sequence) -> str:
    """Write the results as a table, best kernel first.

    The spread is the standard deviation over the seeds, blank for one; differences are to the
    first kernel with the same seed.

    Args:
        results (Sequence[Result]): The first one's kernel is the baseline.
    """
    by_kernel = {}
    for result in results:
        by_kernel.setdefault(result.kernel, {})[result.seed] = result
    baseline = next(iter(by_kernel.values()))
    rows = []
    for kernel, by_seed in by_kernel.items():
        values = [result.value for result in by_seed.values()]
        differences = [result.value - baseline[seed].value for seed, result in by_seed.items()]
        rows.append((kernel, len(values), mean(values), _spread(values), min(values), max(values),
                     mean(differences), _spread(differences),
                     mean(result.loss for result in by_seed.values())))
    rows.sort(key=lambda row: -row[2])
    header = ('kernel', 'seeds', results[0].metric, 'spread', 'lowest', 'highest', 'difference',
              'its spread', 'last losses')
    return table(header, rows)


def _spread(values: Sequence) -> Optional[float]:
    return stdev(values) if len(values) > 1 else None
