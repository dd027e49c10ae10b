"""Compare what attention kernels cost in one backbone: parameters, MACs, time and memory."""

from argparse import ArgumentParser
from collections.abc import Sequence
from importlib import import_module
from typing import Optional

from mmqtvit.analysis.arguments import add_measuring_arguments, prepare_machine, schedule_of
from mmqtvit.analysis.kernels import (
    attention_stride,
    compare,
    describe,
    describe_shares,
    plot,
)
from mmqtvit.analysis.machine import conditions
from mmqtvit.analysis.models import parse_size
from mmqtvit.analysis.results import in_short, save_records
from mmqtvit.apis import UserError, report_user_errors
from mmqtvit.attention import KERNELS
from mmqtvit.backbones.zoo import arch_names


def print_shares() -> None:
    print("Attention's share in the backbones, one image of 224×224\n\n"
          f'{describe_shares((224, 224))}')


def _import(modules: Sequence) -> None:
    for module in modules:
        try:
            import_module(module)
        except ImportError as error:
            raise UserError(f'--imports {module}: {error}; is its folder in PYTHONPATH?') from error


def main(argv: Optional[Sequence] = None) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument(
        'kernels', nargs='*',
        help=f'{", ".join(KERNELS)}, the first is the baseline; options as in ReLULinear:eps=1e-5, '
        'separated by commas; default: all')
    parser.add_argument('--imports', nargs='+', default=[], metavar='MODULE',
                        help='modules that add kernels of their own')
    parser.add_argument(
        '--arch', default='qtvit1', choices=arch_names(), help='default: %(default)s')
    parser.add_argument(
        '--map-sizes', nargs='+', default=['14x14', '32x32', '50x84'], metavar='HxW',
        help="of the first attention stage's map; images are larger by its stride, 16 or 32; "
        'default: 14x14 32x32 50x84')
    parser.add_argument('--batch', type=int, default=1, help='images at once; default: 1')
    parser.add_argument('--shares', action='store_true',
                        help="only count attention's share in QT-ViT-1 to 6, and measure nothing")
    add_measuring_arguments(parser)
    args = parser.parse_args(argv)
    if args.batch < 1:
        parser.error(f'--batch must be at least 1, got {args.batch}')
    if args.shares:
        print_shares()
        return
    _import(args.imports)
    device, schedule = prepare_machine(args), schedule_of(args)
    sizes = [parse_size(size) for size in args.map_sizes]
    costs = compare(
        args.kernels or list(KERNELS), sizes, args.arch, args.batch, device, schedule)
    circumstances = dict(conditions(device), arch=args.arch, dtype='float32', batch=args.batch,
                         pixels_per_token=attention_stride(args.arch))
    print(', '.join(f'{name} {value}' for name, value in circumstances.items()))
    print(f'{schedule.warmup} warm-up calls, up to {schedule.repeats} that count, in turns; '
          f'train: forward, backward and an SGD update\n\n{describe(costs)}\n')
    print_shares()
    if args.out:
        save_records([cost.record() for cost in costs], schedule, circumstances, args.out)
    if args.plot:
        plot(costs, f'{args.arch}, {in_short(circumstances)}', args.plot)


if __name__ == '__main__':
    with report_user_errors():
        main()
