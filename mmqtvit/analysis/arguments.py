"""Command-line arguments that the measuring tools share."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

import torch
from mmengine.device import get_device

from ..cfg.device import usable_device
from ..errors import UserError
from .timing import Schedule


def add_measuring_arguments(parser: ArgumentParser) -> None:
    """Add where and how often to measure, and where to write."""
    usual = Schedule()
    parser.add_argument('--device', default=get_device(), help='default: %(default)s')
    parser.add_argument('--threads', type=int, help="of a CPU; default: PyTorch's choice")
    parser.add_argument('--warmup', type=int, default=usual.warmup,
                        help='calls before the first that counts; default: %(default)s')
    parser.add_argument('--repeats', type=int, default=usual.repeats,
                        help='calls that count; default: %(default)s')
    parser.add_argument('--max-seconds', type=float, default=usual.max_seconds,
                        help='for each case; slow ones get fewer calls; default: %(default)s')
    parser.add_argument('--out', type=Path, help='results to write: a .csv or .json file')
    parser.add_argument('--plot', type=Path, help='picture to write')


def prepare_machine(args: Namespace) -> torch.device:
    """Set the number of threads and return the device.

    Raises:
        UserError: If the device cannot be used.
    """
    if args.threads is not None:
        if args.threads < 1:
            raise UserError(f'--threads must be at least 1, got {args.threads}')
        torch.set_num_threads(args.threads)
    return usable_device(args.device)


def schedule_of(args: Namespace) -> Schedule:
    """Read how often to measure.

    Raises:
        UserError: If a number is too small.
    """
    for name in ('warmup', 'repeats', 'max_seconds'):
        if getattr(args, name) <= 0:
            raise UserError(f'--{name.replace("_", "-")} must be positive, '
                            f'got {getattr(args, name)}')
    return Schedule(args.warmup, args.repeats, args.max_seconds)
