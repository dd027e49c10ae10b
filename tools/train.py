"""Train a detector, segmentor or classifier from a config."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Optional

from mmqtvit.apis import load_config, report_user_errors, train
from mmqtvit.apis.arguments import add_common_arguments, parse


def main(argv: Optional[Sequence] = None) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('config', help='config file')
    parser.add_argument(
        '--resume',
        nargs='?',
        const='auto',
        metavar='FILE',
        help='go on from FILE, or without it from the latest checkpoint of the work dir')
    parser.add_argument(
        '--new-schedule',
        action='store_true',
        help='with --resume: learning rates, schedules and other settings of the optimiser as in '
        'the config, not as in the checkpoint')
    parser.add_argument('--amp', action='store_true', help='automatic mixed precision, on a GPU')
    parser.add_argument(
        '--auto-scale-lr',
        action='store_true',
        help='scale the learning rate with the number of images a step')
    add_common_arguments(parser)
    args = parse(parser, argv)
    cfg = load_config(args.config, args.cfg_options, args.work_dir, args.launcher)
    train(cfg, resume=args.resume, amp=args.amp, auto_scale_lr=args.auto_scale_lr,
          new_schedule=args.new_schedule)


if __name__ == '__main__':
    with report_user_errors():
        main()
