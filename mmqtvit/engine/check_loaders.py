"""Ends a run before its first iteration where its data loaders would spoil it."""

from typing import Callable

from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch.utils.data import DataLoader


class CheckLoaders(Hook):
    """Has each loader that a run reads checked before the run.

    Args:
        check (Callable[[DataLoader, str, str], None]): Gets a loader, 'train', 'val' or 'test',
            and the class name of the loop that reads it; raises where the run must not begin.
    """

    priority = 'HIGHEST'

    def __init__(self, check: Callable[[DataLoader, str, str], None]) -> None:
        self.check = check

    def before_run(self, runner: Runner) -> None:
        """Check the loaders of the loops that are run."""
        for split in ('train', 'val', 'test'):
            loop = getattr(runner, f'_{split}_loop')
            if loop is not None and not isinstance(loop, dict):  # a dict: it is not run now
                self.check(loop.dataloader, split, type(loop).__name__)
