"""Time attention kernels alone, and measure their memory, over the number of tokens."""

from argparse import ArgumentParser
from collections.abc import Sequence
from functools import partial
from typing import Optional

from mmqtvit.analysis.arguments import add_measuring_arguments, prepare_machine, schedule_of
from mmqtvit.analysis.benchmark import PASSES
from mmqtvit.analysis.limits import measure_limits
from mmqtvit.analysis.machine import conditions
from mmqtvit.analysis.models import parse_size
from mmqtvit.analysis.operators import LITERAL, least_ms, plot_scaling, run, tokens
from mmqtvit.analysis.results import describe, in_short, save
from mmqtvit.apis import report_user_errors
from mmqtvit.attention import KERNELS


def main(argv: Optional[Sequence] = None) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument(
        'kernels', nargs='*', default=list(KERNELS),
        help=f'{", ".join([*KERNELS, LITERAL])}, the first is the baseline; {LITERAL} is the '
        'published form of ReleasedQuadraticTaylor; options as in ReLULinear:eps=1e-5; '
        'default: all but that')
    parser.add_argument(
        '--sizes', nargs='+', default=['32x32', '64x64', '128x128', '256x256'], metavar='HxW',
        help='of the maps, H·W tokens; default: 32x32 to 256x256')
    parser.add_argument('--groups', type=int, default=16, help='default: %(default)s')
    parser.add_argument('--head-dim', type=int, default=16,
                        help='channels per group; default: %(default)s')
    parser.add_argument('--dtype', default='float32', choices=['float32', 'bfloat16', 'float16'],
                        help='of queries, keys and values; default: %(default)s')
    parser.add_argument('--passes', nargs='+', default=['forward'], choices=PASSES,
                        help='train: forward and backward; default: forward')
    add_measuring_arguments(parser)
    args = parser.parse_args(argv)
    if min(args.groups, args.head_dim) < 1:
        parser.error('--groups and --head-dim must be positive')
    device, schedule = prepare_machine(args), schedule_of(args)
    measurements = run(args.kernels, [parse_size(size) for size in args.sizes], args.groups,
                       args.head_dim, args.dtype, args.passes, device, schedule)
    limits = measure_limits(device)
    circumstances = dict(conditions(device), groups=args.groups, head_dim=args.head_dim,
                         copied_GB_per_s=round(limits.bytes / 1e9, 2),
                         multiplied_GMAC_per_s=round(limits.macs / 1e9, 2))
    print(describe(measurements, schedule, circumstances, ('size', 'pass'), {
        'ns per token': lambda measurement: measurement.median / tokens(measurement) * 1e9,
        'least, ms': partial(least_ms, limits, args.groups, args.head_dim)}))
    print('Least: of a forward pass, by what the machine copies (q, k, v and the output once) or '
          'multiplies in a second.')
    if args.out:
        save(measurements, schedule, circumstances, args.out)
    if args.plot:
        plot_scaling(measurements, f'{args.groups} groups of {args.head_dim} channels, '
                     f'{args.dtype}, {in_short(circumstances)}', args.plot)


if __name__ == '__main__':
    with report_user_errors():
        main()
