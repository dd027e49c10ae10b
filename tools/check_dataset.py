"""Read every image and label that a config will read, and report what would go wrong."""

import os
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Optional

from mmqtvit.apis import load_config, report_user_errors
from mmqtvit.apis.arguments import CfgOptions
from mmqtvit.apis.check_dataset import examine, print_report

SPLITS = ('train', 'val', 'test')


def main(argv: Optional[Sequence] = None) -> None:
    parser = ArgumentParser(
        description=__doc__,
        epilog='Exit status: 0, 1 if something would break training or evaluation, 2 on mistakes.')
    parser.add_argument('config', help='config file')
    parser.add_argument(
        '--splits', nargs='+', choices=SPLITS, default=SPLITS, help='which loaders; default: all')
    parser.add_argument(
        '--workers', type=int, default=min(8, os.cpu_count() or 1),
        help='processes that read, 0 for none of their own; default: one a core, 8 at most')
    parser.add_argument(
        '--show', type=int, default=3, help='of each kind of finding, how many that differ are '
        'shown, and how many places of those that are equal; default: 3')
    parser.add_argument(
        '--cfg-options', nargs='+', action=CfgOptions, metavar='KEY=VALUE',
        help='change entries of the config, such as train_dataloader.dataset.data_root=DIR')
    args = parser.parse_args(argv)
    for name in ('workers', 'show'):
        if getattr(args, name) < 0:
            parser.error(f'--{name} takes a number from 0, got {getattr(args, name)}')
    cfg = load_config(args.config, args.cfg_options)
    examinations = examine(cfg, args.splits, args.workers)
    print_report(examinations, args.show)
    findings = [finding for one in examinations for finding in one.findings]
    errors = sum(finding.breaks for finding in findings)
    print(f'errors: {errors}, warnings: {len(findings) - errors}')
    if errors:
        raise SystemExit(1)


if __name__ == '__main__':
    with report_user_errors():
        main()
