"""Write a training checkpoint's weights for the toolboxes' own functions, scripts, inferencers."""

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from mmqtvit.apis import UserError, report_user_errors
from mmqtvit.weights import read_checkpoint
from mmqtvit.weights.publish import publish_checkpoint


def main(argv: Optional[Sequence] = None) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('source', metavar='IN', help='checkpoint that training wrote')
    parser.add_argument(
        'out', metavar='OUT', type=Path, help='file to write; its name gets a hash')
    args = parser.parse_args(argv)
    checkpoint = read_checkpoint(args.source)
    try:
        path = publish_checkpoint(checkpoint, args.out)
    except UserError as error:
        raise UserError(f'{args.source}: {error}') from error
    print(f'written to {path}')
    if not (checkpoint['meta'].get('dataset_meta') or {}).get('classes'):
        print('The checkpoint names no classes: the toolboxes will show those of a data set of '
              'their choice')


if __name__ == '__main__':
    with report_user_errors():
        main()
