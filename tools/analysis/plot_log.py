"""Draw the loss and the metric of one or several training runs."""

from argparse import ArgumentParser
from pathlib import Path

from mmqtvit.analysis.curves import describe, plot_runs, read_run
from mmqtvit.apis import UserError, report_user_errors


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('runs', nargs='+', type=Path, help='work dirs or their scalars.json files')
    parser.add_argument('--out', type=Path, default=Path('curves.png'), help='picture to write')
    args = parser.parse_args()
    out = args.out if args.out.suffix else args.out.with_suffix('.png')
    try:
        runs = [read_run(run) for run in args.runs]
        plot_runs(runs, out)
    except (OSError, ValueError) as error:
        raise UserError(error) from error
    print(f'{describe(runs)}\ncurves written to {out}')


if __name__ == '__main__':
    with report_user_errors():
        main()
