"""Swap the backbone of the configs in the installed toolboxes, and run each result forward."""

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from mmqtvit.engine import report_user_errors
from mmqtvit.engine.environment import PACKAGES
from mmqtvit.swap import ARCH_NAMES
from mmqtvit.swap.sweep import run_sweep, summarise


def main(argv: Optional[Sequence] = None) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('toolboxes', nargs='*', metavar='TOOLBOX',
                        help=f'some of {", ".join(PACKAGES)}; default: all')
    parser.add_argument('--all', action='store_true',
                        help='every config, instead of one of each method family')
    parser.add_argument('--arch', default='qtvit1', choices=ARCH_NAMES, help='default: qtvit1')
    parser.add_argument('--out', default='work_dirs/sweep_swap', help='folder for results.jsonl, '
                        'from which a later call goes on, results.csv and summary.md; default: '
                        'work_dirs/sweep_swap')
    parser.add_argument('--workers', type=int, default=1, help='processes at a time; default: 1')
    args = parser.parse_args(argv)
    unknown = set(args.toolboxes) - set(PACKAGES)
    if unknown:
        parser.error(f'toolboxes are {", ".join(PACKAGES)}, got {", ".join(sorted(unknown))}')
    results = run_sweep(args.toolboxes or list(PACKAGES), args.out, args.all, args.workers,
                        args.arch)
    summary = summarise(results)
    Path(args.out, 'summary.md').write_text(summary, encoding='utf-8')
    print(summary.partition('\n## ')[0])
    print(f'the report is in {args.out}/summary.md')


if __name__ == '__main__':
    with report_user_errors():
        main()
