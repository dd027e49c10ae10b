"""Train one config with several attention kernels, each with several seeds, and print a table."""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from mmqtvit.analysis.tables import write_csv
from mmqtvit.analysis.trials import describe, plan, read_result, run
from mmqtvit.apis import report_user_errors
from mmqtvit.attention import KERNELS

TRAIN = Path(__file__).parents[1] / 'train.py'


def main(argv: Optional[Sequence] = None) -> None:
    parser = ArgumentParser(description=__doc__, epilog='Stopped, it goes on where it was.')
    parser.add_argument('config', help='config whose backbone is of this package')
    parser.add_argument('kernels', nargs='+', metavar='KERNEL',
                        help=f'{", ".join(KERNELS)}, the first is the baseline; options as in '
                        'ReLULinear:eps=1e-5, separated by commas')
    parser.add_argument('--seeds', nargs='+', type=int, default=[0, 1], help='default: 0 1')
    parser.add_argument('--work-dir', type=Path, default=Path('work_dirs/kernels'),
                        help='folder for the work dirs; default: %(default)s')
    parser.add_argument('--cfg-options', nargs='+', default=[], metavar='KEY=VALUE',
                        help='change entries of the config, for all trainings')
    parser.add_argument('--out', type=Path, help='CSV with the result of each training to write')
    args = parser.parse_args(argv)
    trials = plan([sys.executable, str(TRAIN)], args.config, args.kernels, args.seeds,
                  args.work_dir, args.cfg_options)
    run(trials)
    results = [read_result(trial) for trial in trials]
    print(f'{args.config} {" ".join(args.cfg_options)}\n\n{describe(results)}')
    if args.out:
        write_csv(args.out, [result._asdict() for result in results])


if __name__ == '__main__':
    with report_user_errors():
        main()
