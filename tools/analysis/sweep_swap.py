"""Swap the backbone of the configs in the installed toolboxes, and try each result out."""

import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Optional

from mmqtvit.apis import report_user_errors
from mmqtvit.backbones.zoo import arch_names
from mmqtvit.swap.coverage import counts_table, coverage_report
from mmqtvit.swap.sweep import run_sweep
from mmqtvit.toolboxes import names


def main(argv: Optional[Sequence] = None) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('toolboxes', nargs='*', metavar='TOOLBOX',
                        help=f'some of {", ".join(names())}; default: what is installed')
    parser.add_argument('--all', action='store_true',
                        help='every config, instead of the first of each metafile')
    parser.add_argument('--arch', default='qtvit1', choices=arch_names(), help='default: qtvit1')
    parser.add_argument('--out', default='work_dirs/sweep_swap', help='folder for results.jsonl, '
                        'from which a later call goes on, and results.csv; default: '
                        'work_dirs/sweep_swap')
    parser.add_argument('--retry', action='store_true',
                        help='try again what an earlier call did not see running')
    parser.add_argument('--report', metavar='FILE', help='Markdown to write; default: coverage.md '
                        'in the folder of --out')
    parser.add_argument('--workers', type=int, default=1, help='processes at a time; default: 1')
    args = parser.parse_args(argv)
    unknown = set(args.toolboxes) - set(names())
    if unknown:
        parser.error(f'toolboxes are {", ".join(names())}, got {", ".join(sorted(unknown))}')
    toolboxes = args.toolboxes or [name for name in names() if find_spec(name)]
    results = run_sweep(toolboxes, args.out, args.all, args.workers, args.arch, args.retry)
    command = shlex.join(['python', 'tools/analysis/sweep_swap.py',
                          *(sys.argv[1:] if argv is None else argv)])
    report = Path(args.report or Path(args.out, 'coverage.md'))
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(coverage_report(results, command, args.all), encoding='utf-8')
    print(counts_table(results))
    print(f'the report is in {report}')


if __name__ == '__main__':
    with report_user_errors():
        main()
