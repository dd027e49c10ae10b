"""Convert a checkpoint between the layouts of this package, the authors and timm."""

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from rich.table import Table

from mmqtvit.apis import UserError, report_user_errors
from mmqtvit.apis.convert import convert_checkpoint
from mmqtvit.backbones.zoo import arch_names
from mmqtvit.terminal import plain_console
from mmqtvit.weights import LAYOUTS, read_checkpoint
from mmqtvit.weights.load import group
from mmqtvit.weights.publish import save_with_hash


def main(argv: Optional[Sequence] = None) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('source', metavar='IN', help='checkpoint in any of the layouts')
    parser.add_argument(
        'out', metavar='OUT', type=Path, help='file to write; its name gets a hash')
    parser.add_argument('--arch', choices=arch_names(), help='default: found from names and shapes')
    parser.add_argument('--to', choices=LAYOUTS, default='mmqtvit', help='default: mmqtvit')
    parser.add_argument(
        '--backbone-only', action='store_true', help='leave out the classifier')
    parser.add_argument('--prefix', default='', help='what the keys begin with, such as student, '
                        'where the file holds several models')
    args = parser.parse_args(argv)
    conversion = convert_checkpoint(
        read_checkpoint(args.source), args.to, args.arch, args.backbone_only, args.prefix)
    layout, unexpected = conversion.report.layout, conversion.report.unexpected
    table = Table(f'from ({layout})', f'to ({args.to})', 'entries', title=conversion.arch)
    for column in table.columns:
        column.overflow = 'fold'
    for (source, name), count in conversion.parts.items():
        table.add_row(source, name, str(count))
    plain_console().print(table)
    if conversion.report.resized:
        print(f'resized to {conversion.arch}: {group(conversion.report.resized)}')
    print(f'written to {save_with_hash(conversion.state_dict, args.out)}')
    if unexpected:
        raise UserError(f'left over, not converted: {group(unexpected)}')


if __name__ == '__main__':
    with report_user_errors():
        main()
