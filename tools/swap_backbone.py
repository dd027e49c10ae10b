"""Put a QT-ViT or EfficientViT backbone into a config of an OpenMMLab toolbox."""

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from rich.text import Text

from mmqtvit.apis import report_user_errors
from mmqtvit.backbones.zoo import arch_names
from mmqtvit.cfg.read import read_config
from mmqtvit.swap import check_swap, plan_swap, write_leaf
from mmqtvit.swap.tables import change_table, comments, summary_table
from mmqtvit.terminal import plain_console
from mmqtvit.toolboxes import names
from mmqtvit.toolboxes.base import own_configs


def strides(text: str) -> tuple:
    """Read numbers such as 8,16,32."""
    numbers = tuple(int(number) for number in text.split(','))
    if min(numbers) < 1:
        raise ValueError
    return numbers


def main(argv: Optional[Sequence] = None) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument('config', help=f"a file, or a toolbox's own as {own_configs()}")
    parser.add_argument('--arch', default='qtvit1', help=f'one of {", ".join(arch_names())}; '
                        'default: qtvit1')
    parser.add_argument('--checkpoint', metavar='FILE', help='pretrained weights of the backbone; '
                        'without them nothing is frozen')
    parser.add_argument('--scope', choices=names(), help="the config's toolbox; default: as its "
                        'default_scope says, or the classes of its model')
    parser.add_argument('--old-strides', type=strides, metavar='S,S,…', help="strides of the old "
                        'backbone\'s outputs, such as 8,16,32: then it is not built')
    parser.add_argument('-o', '--out', help='the config to write; default: <name>_<arch>.py in '
                        'the current folder')
    parser.add_argument('--check', action='store_true', help="build the model, read the "
                        "checkpoint, predict and take a loss step on noise of the config's own "
                        'image size')
    args = parser.parse_args(argv)
    console = plain_console()
    cfg = read_config(args.config, custom_imports=False)  # they may not be needed
    plan = plan_swap(cfg, args.arch, args.checkpoint, args.scope, args.old_strides)
    swapped = plan.apply(cfg)
    out = args.out or f'{Path(args.config.split("::")[-1]).stem}_{args.arch}.py'
    write_leaf(out, args.config, cfg, swapped, comments(args.config, swapped, plan))
    console.print(summary_table(cfg, swapped, plan))
    changes = change_table(cfg, swapped)
    if changes.row_count:
        console.print(changes)
    for note in plan.changes.notes:
        console.print(f'note: {note}', soft_wrap=True)
    for warning in plan.changes.warnings:
        console.print(Text.assemble(('warning:', 'yellow'), f' {warning}'), soft_wrap=True)
    print(f'written to {out}')
    if args.check:
        with console.status('building the model and running it on noise'):
            done = check_swap(cfg, swapped, args.scope)
        print(f'checked at {done.size[0]}×{done.size[1]}: predicts, and takes a loss step '
              f'(loss {done.loss:.4g}); {done.parameters / 1e6:.2f} M parameters in all')


if __name__ == '__main__':
    with report_user_errors():
        main()
