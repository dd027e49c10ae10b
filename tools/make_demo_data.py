"""Draw small scenes of textured shapes, in ADE20K's and in COCO's layout."""

from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser
from pathlib import Path

from mmqtvit.demo import write_dataset
from mmqtvit.engine import UserError, report_user_errors


def main() -> None:
    parser = ArgumentParser(
        description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    parser.add_argument('out', type=Path, help='folder for ade20k/ and coco/')
    parser.add_argument('--train', type=int, default=480, help='training scenes')
    parser.add_argument('--val', type=int, default=80, help='held-out scenes')
    parser.add_argument('--size', type=int, default=128, help='side of the images in pixels')
    parser.add_argument('--seed', type=int, default=0, help='another one draws other scenes')
    args = parser.parse_args()
    if args.train < 1 or args.val < 1 or args.size < 64:
        raise UserError('--train and --val must be at least 1 and --size at least 64, got '
                        f'{args.train}, {args.val} and {args.size}')
    if args.out.is_file():
        raise UserError(f'{args.out} is a file, not a folder')
    write_dataset(args.out, args.train, args.val, args.size, args.seed)


if __name__ == '__main__':
    with report_user_errors():
        main()
