"""Writes a swapped config as a small file that inherits the original."""

import math
import os
import textwrap
from keyword import iskeyword
from pathlib import Path
from typing import Any, Optional

from mmengine import Config
from yapf.yapflib.yapf_api import FormatCode

from ..errors import UserError
from ..toolboxes import names

STYLE = dict(
    based_on_style='pep8', column_limit=100, split_before_expression_after_opening_paren=True,
    each_dict_entry_on_separate_line=True)


def difference(old: dict, new: dict) -> dict:
    """What a child config has to say for its parent ``old`` to become ``new``.

    A dict that lost a key, or that replaces something else, comes whole and with ``_delete_``.
    """
    changes = {}
    for key, value in new.items():
        before = old.get(key)
        if key in old and type(before) is type(value) and before == value:
            continue
        if isinstance(value, dict) and key in old:
            keeps_all = isinstance(before, dict) and set(before) <= set(value)
            value = difference(before, value) if keeps_all else {'_delete_': True, **value}
            if not value:  # equal, but for a type inside
                continue
        changes[key] = value
    return changes


def leaf_text(base: str, old: Config, new: Config, comments: Optional[list] = None) -> str:
    """The text of a config that inherits ``base``, whose content is ``old``, and gives ``new``.

    Args:
        base (str): For ``_base_``: a path seen from the leaf, or a toolbox's as ``mmdet::…``.
        old (Config): The original.
        new (Config): As from :func:`swap_backbone`.
        comments (list[str], optional): Remarks for the top. Defaults to None.
    """
    changes = difference(old.to_dict(), new.to_dict())
    return commented(comments) + _assignments({'_base_': base, **changes})


def _assignments(values: dict) -> str:
    lines = [f'{key} = {source(value)}' for key, value in values.items()]
    return FormatCode('\n'.join(lines) + '\n', style_config=STYLE)[0]


def commented(remarks: Optional[list]) -> str:
    """Remarks as comment lines of Python source."""
    return ''.join(
        textwrap.fill(remark, 100, initial_indent='# ', subsequent_indent='#   ',
                      break_long_words=False, break_on_hyphens=False) + '\n'
        for remark in remarks or ())


def write_leaf(path: str, config: str, old: Config, new: Config,
               comments: Optional[list] = None) -> None:
    """Write the leaf, or the whole config where ``config`` is of the kind with ``read_base()``.

    Args:
        path (str): The file to write.
        config (str): The original, as given on a command line.
        old (Config): Its content.
        new (Config): As from :func:`swap_backbone`.
        comments (list[str], optional): Remarks for the top. Defaults to None.

    Raises:
        UserError: If ``path`` is no Python file, or is the original.
    """
    if Path(path).suffix != '.py':
        raise UserError(f'the config to write must be a .py file, got {path}')
    if '::' not in config and Path(path).resolve() == Path(config).resolve():
        raise UserError(f'{path} would inherit itself: write to another file')
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    if is_new_style(old):
        text = commented(comments) + _assignments(new.to_dict())
    else:
        text = leaf_text(base_reference(config, path), old, new, comments)
    Path(path).write_text(text, encoding='utf-8')


def is_new_style(cfg: Config) -> bool:
    """Whether a config comes from a file of mmengine's new style, which text cannot inherit."""
    return bool(cfg.filename) and cfg.filename.endswith('.py') and Config._is_lazy_import(
        cfg.filename)


def base_reference(config: str, path: str) -> str:
    """How a leaf at ``path`` names its parent: ``mmdet::…`` where it is a toolbox's own."""
    if '::' in config:
        return config
    absolute = Path(config).resolve()
    parts = absolute.parts
    for toolbox in names():
        marker = (toolbox, '.mim', 'configs')
        for start in range(len(parts) - len(marker)):
            if parts[start:start + 3] == marker:
                return f'{toolbox}::{"/".join(parts[start + 3:])}'
    relative = os.path.relpath(absolute, Path(path).resolve().parent).replace(os.sep, '/')
    return relative if relative.startswith('.') else f'./{relative}'


def source(value: Any) -> str:
    """Python source of a value, dicts as ``dict(…)`` where their keys can be arguments.

    mmengine's ``Config.pretty_text`` sorts the keys, and what it writes cannot be read again where
    a number is infinite or a key has a quote or is a keyword such as 'lambda'.
    """
    if isinstance(value, dict):
        if all(isinstance(key, str) and key.isidentifier() and not iskeyword(key)
               for key in value):
            return f'dict({", ".join(f"{key}={source(child)}" for key, child in value.items())})'
        return '{' + ', '.join(f'{key!r}: {source(child)}' for key, child in value.items()) + '}'
    if isinstance(value, list):
        return f'[{", ".join(map(source, value))}]'
    if isinstance(value, tuple):
        return f'({", ".join(map(source, value))}{"," if len(value) == 1 else ""})'
    if isinstance(value, float) and not math.isfinite(value):
        return f'float({str(value)!r})'
    return repr(value)
