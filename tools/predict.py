"""Predict on images and draw the masks, boxes or labels."""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from mmqtvit.apis import load_config, report_user_errors
from mmqtvit.apis.arguments import CfgOptions
from mmqtvit.apis.images import find_images
from mmqtvit.apis.inference import Predictor, predict


def main(argv: Optional[Sequence] = None) -> None:
    parser = ArgumentParser(
        description=__doc__, epilog='Exit status: 0, 1 if images could not be read, 2 on mistakes.')
    parser.add_argument('config', help='config file')
    parser.add_argument('checkpoint', help='checkpoint file')
    parser.add_argument('images', nargs='+', help="files, folders or patterns, 'shots/**/*.jpg'")
    parser.add_argument(
        '--out', type=Path, required=True, help='folder for the pictures and JSON files')
    parser.add_argument(
        '--score-thr', type=float, default=0.3,
        help='leave out instances that score less (detectors); default: 0.3')
    parser.add_argument(
        '--plain', action='store_true', help='run the model as trained, not in its deploy form')
    parser.add_argument('--device', help='such as cpu or cuda:1; default: the best there is')
    parser.add_argument(
        '--cfg-options', nargs='+', action=CfgOptions, metavar='KEY=VALUE',
        help='change entries of the config, such as model.test_cfg.mode=whole')
    args = parser.parse_args(argv)
    images = find_images(args.images)
    cfg = load_config(args.config, args.cfg_options)
    predictor = Predictor(cfg, args.checkpoint, args.device, args.score_thr, args.plain)
    skipped, noted = predict(predictor, images, args.out)
    for path, wrong in noted.items():
        print(f'{path} {wrong}', file=sys.stderr)
    for path, reason in skipped.items():
        print(f'{path} skipped: {reason}', file=sys.stderr)
    print(f'{len(images) - len(skipped)} of {len(images)} images predicted, see {args.out}')
    if skipped:
        raise SystemExit(1)


if __name__ == '__main__':
    with report_user_errors():
        main()
