"""Draw small scenes of textured shapes, in ADE20K's and in COCO's layout."""

from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser
from pathlib import Path

from mmqtvit.apis import UserError, report_user_errors
from mmqtvit.demo import write_dataset


def main() -> None:
    parser = ArgumentParser(
        description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    parser.add_argument('out', type=Path, help='folder for ade20k/ and coco/')
    parser.add_argument('--train', type=int, default=480, help='training scenes')
    parser.add_argument('--val', type=int, default=80, help='held-out scenes')
    parser.add_argument('--size', type=int, default=128, help='side of the images in pixels')
    parser.add_argument('--seed', type=int, default=0, help='another one draws other scenes')
    args = parser.parse_args()
    for name, least in (('train', 1), ('val', 1), ('size', 64), ('seed', 0)):
        if getattr(args, name) < least:
            raise UserError(f'--{name} must be at least {least}, got {getattr(args, name)}')
    try:
        write_dataset(args.out, args.train, args.val, args.size, args.seed)
    except OSError as error:
        raise UserError(error) from error


if __name__ == '__main__':
    with report_user_errors():
        main()
