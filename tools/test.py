"""Evaluate a checkpoint of a detector, segmentor or classifier."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Optional

from mmqtvit.apis import load_config, report_user_errors, test
from mmqtvit.apis.arguments import add_common_arguments, parse


def main(argv: Optional[Sequence] = None) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('config', help='config file')
    parser.add_argument('checkpoint', help='checkpoint file')
    parser.add_argument(
        '--out', help='where to keep the predictions: a folder (segmentors) or a .pkl file')
    parser.add_argument('--show-dir', help='folder for pictures of the predictions')
    parser.add_argument('--show', action='store_true', help='show the predictions in a window')
    parser.add_argument(
        '--wait-time', type=float, default=2, help='seconds a picture is shown; default: 2')
    parser.add_argument('--tta', action='store_true', help='augment at test time')
    parser.add_argument(
        '--plain', action='store_true', help='run the model as trained, not in its deploy form')
    add_common_arguments(parser)
    args = parse(parser, argv)
    cfg = load_config(args.config, args.cfg_options, args.work_dir, args.launcher)
    test(
        cfg,
        args.checkpoint,
        out=args.out,
        show_dir=args.show_dir,
        show=args.show,
        wait_time=args.wait_time,
        tta=args.tta,
        plain=args.plain)


if __name__ == '__main__':
    with report_user_errors():
        main()
