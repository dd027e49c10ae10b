"""Convert a checkpoint between the layouts of this package, the authors and timm."""

import re
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from mmqtvit.engine import UserError, report_user_errors
from mmqtvit.weights import LAYOUTS, read_checkpoint
from mmqtvit.weights.convert import ARCHS, convert_checkpoint, save_with_hash
from mmqtvit.weights.load import group


def part_of(name: str) -> str:
    """``backbone.stages.2`` of ``backbone.stages.2.1.….weight``: down to the first number."""
    found = re.match(r'.*?\.\d+(?=\.)|[^.]+', name)
    return found[0]


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('source', metavar='IN', help='checkpoint in any of the layouts')
    parser.add_argument(
        'out', metavar='OUT', type=Path, help='file to write; its name gets a hash')
    parser.add_argument('--arch', choices=ARCHS, help='default: found from names and shapes')
    parser.add_argument('--to', choices=LAYOUTS, default='mmqtvit', help='default: mmqtvit')
    parser.add_argument(
        '--backbone-only', action='store_true', help='leave out the classifier')
    args = parser.parse_args()
    state_dict, report, arch = convert_checkpoint(
        read_checkpoint(args.source), args.to, args.arch, args.backbone_only)
    table = Table('part', 'entries', title=f'{arch}: {report.layout} → {args.to}')
    for part, count in Counter(part_of(name) for name in state_dict).items():
        table.add_row(part, str(count))
    Console().print(table)
    print(f'written to {save_with_hash(state_dict, args.out)}')
    if report.unexpected:
        raise UserError(f'left over, not converted: {group(report.unexpected)}')


if __name__ == '__main__':
    with report_user_errors():
        main()
