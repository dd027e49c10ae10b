"""Command-line arguments that training and testing share."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Optional

from mmengine.config import DictAction


class CfgOptions(DictAction):
    """mmengine's ``key=value`` pairs, but a malformed one is an error of usage."""

    def __call__(self, parser, namespace, values, option_string=None) -> None:
        for pair in values:
            key, equals, value = pair.partition('=')
            if not equals or not all(key.split('.')):
                parser.error(f'{option_string} takes key=value pairs without spaces, such as '
                             f'train_dataloader.batch_size=2, got {pair!r}')
            if any(value.count(left) != value.count(right) for left, right in ('()', '[]')):
                parser.error(f'{option_string}: unbalanced brackets in {pair!r}')
        super().__call__(parser, namespace, values, option_string)


def add_common_arguments(parser: ArgumentParser) -> None:
    """Add what ``tools/train.py`` and ``tools/test.py`` have in common."""
    parser.add_argument('--work-dir', help='where to write; default: work_dirs/<config name>')
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=CfgOptions,
        metavar='KEY=VALUE',
        help='change entries of the config, such as train_dataloader.batch_size=2')
    parser.add_argument(
        '--launcher',
        choices=['none', 'pytorch', 'slurm', 'mpi'],
        default='none',
        help='how distributed processes were started; default: none')
    # torch.distributed.launch passes the dashed form; the underscored one is older.
    parser.add_argument('--local_rank', '--local-rank', type=int, default=0)


def parse(parser: ArgumentParser, argv: Optional[Sequence] = None) -> Namespace:
    """Parse the command line and publish the local rank as mmengine expects it."""
    args = parser.parse_args(argv)
    os.environ.setdefault('LOCAL_RANK', str(args.local_rank))
    return args
