"""Draw where the attention of one pixel goes, for several kernels or models side by side."""

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from mmcv.transforms import LoadImageFromFile

from mmqtvit.analysis.attention_maps import compute_maps, plot_maps
from mmqtvit.apis import UserError, report_user_errors
from mmqtvit.apis.images import UnreadableImage, read_image
from mmqtvit.attention import KERNELS
from mmqtvit.backbones.zoo import arch_names


def main(argv: Optional[Sequence] = None) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('image', type=Path)
    parser.add_argument('models', nargs='+', metavar='MODEL[=CHECKPOINT]',
                        help=f'a config, or one of {", ".join(arch_names())}; without '
                        'checkpoint the weights are random')
    parser.add_argument('--query', nargs=2, type=int, required=True, metavar=('X', 'Y'),
                        help='pixel of the image')
    parser.add_argument('--kernels', nargs='+', default=[], metavar='KERNEL',
                        help=f'to draw as well, with q and k of the first model: '
                        f'{", ".join(KERNELS)}; options as in ReLULinear:eps=1e-5')
    parser.add_argument('--size', nargs=2, type=int, metavar=('H', 'W'),
                        help='what the image is resized to; default: its own size')
    parser.add_argument('--stage', type=int, help='1 to 4; default: the first with attention')
    parser.add_argument('--block', type=int, default=-1,
                        help="index of the stage's attention block; default: -1, the last")
    parser.add_argument('--group', type=int, help='group of channels; default: the mean of all')
    parser.add_argument('--out', type=Path, default=Path('attention.png'),
                        help='picture to write; default: %(default)s')
    args = parser.parse_args(argv)
    try:
        image, _ = read_image(args.image, LoadImageFromFile())
    except UnreadableImage as reason:
        raise UserError(f'{args.image} cannot be read: {reason}') from reason
    size = tuple(args.size or image.shape[:2])
    if min(size) < 1:
        parser.error(f'--size takes two positive numbers, got {size[0]} {size[1]}')
    maps = compute_maps(image, args.models, args.query, size, args.kernels, args.stage, args.block,
                        args.group)
    plot_maps(image, size, args.query, maps, args.out)
    for shown in maps:
        print(f'{" | ".join(shown.title.splitlines())}: {shown.weights.shape[0]}×'
              f'{shown.weights.shape[1]} weights, sum {shown.weights.mean():.4f}, largest '
              f'{shown.weights.max():.3g} times 1/{shown.weights.size}')
    print(f'picture written to {args.out}')


if __name__ == '__main__':
    with report_user_errors():
        main()
