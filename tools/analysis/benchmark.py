"""Time models, and measure their memory, in turns and in one run."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Optional

from mmqtvit.analysis.arguments import add_measuring_arguments, prepare_machine, schedule_of
from mmqtvit.analysis.benchmark import DTYPES, EAGER, MODES, PASSES, Plan, run
from mmqtvit.analysis.machine import conditions
from mmqtvit.analysis.models import SPEC_HELP, parse_size
from mmqtvit.analysis.results import describe, plot_ratios, save
from mmqtvit.apis import report_user_errors


def main(argv: Optional[Sequence] = None) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('models', nargs='+', help=f'the first is the baseline. {SPEC_HELP}')
    parser.add_argument('--sizes', nargs='+', default=['224x224', '512x512'], metavar='HxW',
                        help='of the images in pixels; default: 224x224 512x512')
    parser.add_argument('--modes', nargs='+', default=[EAGER], metavar='MODE',
                        help=f'{EAGER} (the default), or some of {", ".join(MODES)} joined by +')
    parser.add_argument('--dtypes', nargs='+', default=['float32'], choices=DTYPES,
                        help='weights and images cast to it, or autocast; default: float32')
    parser.add_argument('--passes', nargs='+', default=['forward'], choices=PASSES,
                        help='train: forward, backward and an SGD update; default: forward')
    parser.add_argument('--batch', type=int, default=1, help='images at once; default: 1')
    add_measuring_arguments(parser)
    args = parser.parse_args(argv)
    if args.batch < 1:
        parser.error(f'--batch must be at least 1, got {args.batch}')
    device, schedule = prepare_machine(args), schedule_of(args)
    plan = Plan(args.models, [parse_size(size) for size in args.sizes], args.modes, args.dtypes,
                args.passes, args.batch)
    measurements = run(plan, device, schedule)
    circumstances = dict(conditions(device), batch=args.batch)
    print(describe(measurements, schedule, circumstances, ('size', 'dtype', 'pass')))
    if args.out:
        save(measurements, schedule, circumstances, args.out)
    if args.plot:
        plot_ratios(measurements, circumstances, args.plot)


if __name__ == '__main__':
    with report_user_errors():
        main()
