"""Going on with a training: whether a checkpoint fits, and whose schedule goes on."""

import warnings
from collections.abc import Sequence
from typing import Any

from mmengine.hooks import Hook
from mmengine.optim import OptimWrapperDict
from mmengine.runner import Runner
from torch import nn

from ..errors import UserError

#: Entries of a scheduler's state that change while it runs, or follow from the optimiser.
PROGRESS = ('_global_step', '_last_value', 'base_values', 'last_step', 'verbose')
#: Entries of an optimiser's groups that say how it computes, not what.
MEANS = ('params', 'foreach', 'fused', 'capturable', 'differentiable')
START = 'to start a new training from its weights use --cfg-options load_from={}'


def check_resumable(checkpoint: dict, source: str) -> None:
    """Raise :class:`UserError` if a file does not hold all that a training goes on from."""
    lacking = [key for key in ('meta', 'message_hub', 'optimizer') if key not in checkpoint]
    if lacking:
        what = 'weights only' if len(lacking) == 3 else f'no {" and no ".join(lacking)}'
        raise UserError(f'{source} holds {what}, so training cannot be resumed from it; '
                        + START.format(source))


def check_same_model(model: nn.Module, state_dict: dict, source: str) -> None:
    """Raise :class:`UserError` unless a file has all entries of a model, in their shapes."""
    shapes = {key: getattr(value, 'shape', None) for key, value in state_dict.items()}
    for key, value in model.state_dict().items():
        if shapes.get(key) != value.shape and value.dim():
            there = f'{tuple(shapes[key])} in it and' if key in shapes else 'not in it, but'
            raise UserError(f'{source} is of another model, so training cannot be resumed from it: '
                            f'{key} is {there} {tuple(value.shape)} in the config; '
                            + START.format(source))


class ChooseSchedule(Hook):
    """Says whose settings of optimiser and schedule go on, or takes the config's.

    mmengine takes the checkpoint's, whatever the config says, and does not tell.

    Args:
        source (str): The checkpoint.
        new (bool): Whether to take the config's, at the place that the training has reached.
    """

    def __init__(self, source: str, new: bool) -> None:
        self.source, self.new = source, new

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Compare what was read with what was built, before mmengine replaces the latter."""
        if isinstance(runner.optim_wrapper, OptimWrapperDict):
            return
        groups, saved = runner.optim_wrapper.optimizer.param_groups, checkpoint['optimizer']
        schedulers = runner.param_schedulers or []
        self._check_optimizer(groups, saved['param_groups'])
        if not self.new and 'param_schedulers' in checkpoint:
            self._compare(runner, groups, checkpoint)
        else:
            fast_forward(schedulers, checkpoint['meta'])
            # mmengine logs the rate of a group without parameters where there are several groups.
            ours = [*groups, getattr(runner.optim_wrapper, 'base_param_settings', None)]
            theirs = [*saved['param_groups'], saved.get('base_param_settings')]
            for group, other in zip(ours, theirs):
                if group and other:
                    other.update({key: value for key, value in group.items() if key != 'params'})
            checkpoint['param_schedulers'] = [each.state_dict() for each in schedulers]
        if runner.train_loop.max_iters > checkpoint['meta']['iter'] and schedulers and all(
                each['end'] <= checkpoint['meta']['epoch' if each['by_epoch'] else 'iter']
                for each in checkpoint['param_schedulers']):
            rate = max(group['lr'] for group in saved['param_groups'])
            runner.logger.warning(f'All schedules have ended, so the learning rate stays {rate:g}; '
                                  'another `end` in param_scheduler is taken with --new-schedule')

    def _check_optimizer(self, ours: Sequence, theirs: Sequence) -> None:
        kinds = [[sorted(key for key, value in group.items() if _is_setting(key, value))
                  for group in groups] for groups in (ours, theirs)]
        sizes = [[len(group['params']) for group in groups] for groups in (ours, theirs)]
        if len(ours) != len(theirs):
            difference = f'{len(theirs)} groups of parameters there and {len(ours)} in the config'
        elif kinds[0] != kinds[1]:
            mine, other = next(pair for pair in zip(*kinds) if pair[0] != pair[1])
            difference = f'it has {", ".join(other)} there and {", ".join(mine)} in the config'
        elif sizes[0] != sizes[1] and isinstance(theirs[0]['params'][0], int):
            difference = 'its groups have other numbers of parameters'
        else:
            return
        raise UserError(f'{self.source} was trained with another optimiser, so training cannot be '
                        f'resumed from it: {difference}; ' + START.format(self.source))

    def _compare(self, runner: Runner, groups: Sequence, checkpoint: dict) -> None:
        built = [each.state_dict() for each in runner.param_schedulers or []]
        saved = checkpoint['param_schedulers'] or []
        if [each.keys() for each in built] != [each.keys() for each in saved]:
            raise UserError(f'the schedules of {self.source} are of other kinds than those of the '
                            "config; give --new-schedule to go on with the config's")
        changes = {}  # what is in the checkpoint and in the config
        for index, pair in enumerate(zip(saved, built)):
            changes.update({f'param_scheduler.{index}.{key}': [each[key] for each in pair]
                            for key in sorted(pair[0].keys() - PROGRESS)})
        for pair in zip(checkpoint['optimizer']['param_groups'], groups):
            for key in sorted(pair[0].keys() & pair[1].keys() - {*MEANS}):
                # A scheduled value changes; the one that it starts from is the config's.
                values = [each.get(f'initial_{key}', each[key]) for each in pair]
                if values[0] != values[1] and not key.startswith('initial_'):
                    changes.setdefault(key, values)
        text = [f'{key} is {there}, not {here}' for key, (there, here) in changes.items()
                if there != here]
        if text:
            runner.logger.warning(
                'The training goes on with the settings of the checkpoint, not of the config: '
                + '; '.join(text) + ". --new-schedule takes the config's")


def _is_setting(key: str, value: Any) -> bool:
    return key not in MEANS and not key.startswith('initial_') and not (
        value is None or isinstance(value, bool))  # releases of PyTorch differ in their switches


def fast_forward(schedulers: Sequence, meta: dict) -> None:
    """Step new schedulers to where a training was.

    Those that follow a metric stay at their beginning, since the metrics are not known any more.

    Args:
        schedulers (Sequence[_ParamScheduler]): Just built; their optimiser changes with them.
        meta (dict): With the ``epoch`` and ``iter`` reached.
    """
    epoch = 0
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # that the optimiser makes no step between
        for index in range(1, meta['iter'] + 1):
            ended = index * meta['epoch'] // meta['iter'] > epoch
            epoch += ended
            for scheduler in schedulers:
                if not getattr(scheduler, 'need_val_args', False) and (
                        ended or not scheduler.by_epoch):
                    scheduler.step()
