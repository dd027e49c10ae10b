"""Command-line arguments that training and testing share."""

import ast
import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any, Optional

from mmengine.config import DictAction


class CfgOptions(DictAction):
    """mmengine's ``key=value`` pairs, and dicts; a malformed pair is an error of usage.

    A dict is written as in Python, ``{'mode': 'whole'}`` or ``dict(mode='whole')``; quotes may be
    left out.
    """

    def __call__(self, parser, namespace, values, option_string=None) -> None:
        options = dict(getattr(namespace, self.dest, None) or {})
        for pair in values:
            key, equals, value = pair.partition('=')
            if not equals or not all(key.split('.')):
                parser.error(f'{option_string} takes key=value pairs without spaces, such as '
                             f'train_dataloader.batch_size=2, got {pair!r}')
            if any(value.count(left) != value.count(right) for left, right in ('()', '[]', '{}')):
                parser.error(f'{option_string}: unbalanced brackets in {pair!r}')
            try:
                options[key] = parse_value(value)
            except (AssertionError, RecursionError, SyntaxError, ValueError):
                parser.error(f'{option_string}: cannot read the value in {pair!r}; a number, a '
                             "word, (a,tuple), [a,list] or dict(mode='whole',stride=(64,64)), in "
                             'quotes for the shell')
        setattr(namespace, self.dest, options)


def parse_value(text: str) -> Any:
    """Read the value of an option.

    Args:
        text (str): Such as '2', 'BN', '64,64', '(64,64)' or "dict(mode='whole')".

    Raises:
        ValueError: If it is malformed; also AssertionError, RecursionError and SyntaxError.
    """
    text = text.strip()
    # A name of files such as {:06d}.jpg is a word.
    if re.search(r'(^|[\s\[(,])(dict\(|{)', text) and text.endswith(('}', ')', ']')):
        return _literal(ast.parse(text, mode='eval').body)
    return DictAction._parse_iterable(text)


def _literal(node: ast.AST) -> Any:
    """A Python literal, with calls of ``dict`` and bare words for texts."""
    if isinstance(node, (ast.Attribute, ast.Name)):  # mmqtvit.QTViT; true is True
        return DictAction._parse_int_float_bool(ast.unparse(node))
    if isinstance(node, (ast.List, ast.Tuple)):
        items = [_literal(child) for child in node.elts]
        return items if isinstance(node, ast.List) else tuple(items)
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {_literal(key): _literal(value) for key, value in zip(node.keys, node.values)}
    if (isinstance(node, ast.Call) and getattr(node.func, 'id', None) == 'dict' and not node.args
            and all(keyword.arg for keyword in node.keywords)):
        return {keyword.arg: _literal(keyword.value) for keyword in node.keywords}
    return ast.literal_eval(node)


def add_common_arguments(parser: ArgumentParser) -> None:
    """Add what ``tools/train.py`` and ``tools/test.py`` have in common."""
    parser.add_argument('--work-dir', help='where to write; default: work_dirs/<config name>')
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=CfgOptions,
        metavar='KEY=VALUE',
        help='change entries of the config, such as train_dataloader.batch_size=2')
    parser.add_argument(
        '--launcher',
        choices=['none', 'pytorch', 'slurm', 'mpi'],
        default='none',
        help='how distributed processes were started; default: none')
    # torch.distributed.launch passes the dashed form; the underscored one is older.
    parser.add_argument('--local_rank', '--local-rank', type=int, default=0)


def parse(parser: ArgumentParser, argv: Optional[Sequence] = None) -> Namespace:
    """Parse the command line and publish the local rank as mmengine expects it."""
    args = parser.parse_args(argv)
    os.environ.setdefault('LOCAL_RANK', str(args.local_rank))
    return args
