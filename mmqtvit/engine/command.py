"""What the command lines share: errors for people, arguments, exit statuses."""

import os
import sys
from argparse import ArgumentParser
from typing import Callable

from mmengine.config import DictAction


class UserError(Exception):
    """A mistake that the user can mend; its text says what was received and what to do."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a text that says how to go on."""


class ConfigOptions(DictAction):
    """mmengine's ``KEY=VALUE`` pairs, with an error message for a pair that is not one."""

    def __call__(self, parser, namespace, values, option_string=None):
        for pair in values:
            key, equals, value = pair.partition('=')
            if not equals or not all(key.split('.')):
                parser.error(f'{option_string} takes KEY=VALUE pairs without spaces, such as '
                             f'model.backbone.arch=qtvit2, got {pair!r}')
            for opening, closing in ('()', '[]'):
                if value.count(opening) != value.count(closing):
                    parser.error(f'{option_string}: unbalanced brackets in {pair!r}')
        super().__call__(parser, namespace, values, option_string)


def add_shared_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that training and testing have in common.

    They are those of the toolboxes' own scripts. ``--local_rank`` is accepted because old
    launchers pass it; :func:`run_command` hands it on through the environment.
    """
    parser.add_argument('config', help='config file, of MMDetection, MMSegmentation or MMPretrain')
    parser.add_argument('--work-dir', help='for logs and results; work_dirs/CONFIG if not given')
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=ConfigOptions,
        metavar='KEY=VALUE',
        help='change settings of the config, lists as key="[a,b]"')
    parser.add_argument(
        '--launcher',
        choices=['none', 'pytorch', 'slurm', 'mpi'],
        default='none',
        help='what started the processes of a distributed run')
    parser.add_argument('--local_rank', '--local-rank', type=int, default=0, help='set by launchers')


def run_command(work: Callable, **arguments) -> int:
    """Do a command line's work and turn how it ends into an exit status.

    A :class:`UserError` becomes a few lines on stderr, from one process per machine. Any other
    exception keeps its traceback.

    Args:
        work (Callable): Called with ``arguments`` less ``local_rank``.
        **arguments: The parsed command line.

    Returns:
        int: 0, 2 after a :class:`UserError`, or 130 after Ctrl-C.
    """
    os.environ.setdefault('LOCAL_RANK', str(arguments.pop('local_rank', 0)))
    try:
        work(**arguments)
    except UserError as error:
        _report(f'error: {error}')
        return 2
    except KeyboardInterrupt as interrupt:
        _report(str(interrupt) or 'Interrupted.')
        return 130
    return 0


def _report(text: str) -> None:
    if os.environ['LOCAL_RANK'] == '0':
        sys.stdout.flush()
        print(text, file=sys.stderr)
