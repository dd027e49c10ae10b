"""Count the multiply-adds and parameters of a model, matrix products included."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Optional

from mmqtvit.analysis.counting import count, describe
from mmqtvit.analysis.models import SPEC_HELP, build_model
from mmqtvit.apis import report_user_errors
from mmqtvit.apis.arguments import CfgOptions


def main(argv: Optional[Sequence] = None) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('model', help=SPEC_HELP)
    parser.add_argument('--size', nargs=2, type=int, default=(224, 224), metavar=('H', 'W'),
                        help='of the image in pixels; default: 224 224')
    parser.add_argument('--cfg-options', nargs='+', action=CfgOptions, metavar='KEY=VALUE',
                        help='change entries of the config')
    args = parser.parse_args(argv)
    if min(args.size) < 1:
        parser.error(f'--size takes two positive numbers, got {args.size[0]} {args.size[1]}')
    counted = count(lambda: build_model(args.model, args.cfg_options), args.size, progress=True)
    print(f'{args.model}, one image of {args.size[0]}×{args.size[1]}\n\n{describe(counted)}')


if __name__ == '__main__':
    with report_user_errors():
        main()
