"""Refuses changes of a config that would not do what is meant."""

import ast
import difflib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mmengine import Config
from mmengine.runner import FlexibleRunner, Runner

from ..errors import UserError

#: Entries of a config that mmengine's runners or the tools read; any other is a variable that the
#: file itself may have used.
READ = {
    *inspect.signature(Runner).parameters, *inspect.signature(FlexibleRunner).parameters,
    'activation_checkpointing', 'auto_scale_lr', 'compile', 'default_scope',
    'efficient_conv_bn_eval', 'find_unused_parameters', 'model_wrapper_cfg', 'runner_type',
    'sync_bn', 'tta_model', 'tta_pipeline'
} - {'cfg'}
MAX_SHOWN = 8


def check_option(cfg: Config, key: str, value: Any) -> None:
    """Look at an option before it is merged.

    Args:
        cfg (Config): Without the option.
        key (str): Dotted, as --cfg-options takes it.
        value (Any): What is to stand there.

    Raises:
        UserError: If the key is nearly one of the config's, if nothing would read it, or if the
            value is a text or number in place of a dict.
    """
    _check_spelling(cfg, key)
    _check_read(cfg, key)
    _check_kind(cfg, key, value)


def _check_spelling(cfg: Config, key: str) -> None:
    """Refuse a new key that is nearly an old one: it would be added, and nothing would read it.

    Raises:
        UserError: If so; the message has the old key.
    """
    node, names = cfg._cfg_dict, key.split('.')
    known = {*node, *READ}
    for depth, name in enumerate(names):
        if not isinstance(node, dict) or name in (known if depth == 0 else ()) and name not in node:
            return
        if name not in node:
            near = difflib.get_close_matches(name, known if depth == 0 else node, 1, cutoff=0.85)
            if near:
                meant = '.'.join([*names[:depth], near[0], *names[depth + 1:]])
                raise UserError(f'--cfg-options {key}: there is no such key in the config; '
                                f'is {meant} meant?')
            return
        node = node[name]


def _check_read(cfg: Config, key: str) -> None:
    """Refuse to change a variable that the file has used already: nothing would read it any more.

    Raises:
        UserError: If so; the message has the keys that are read in its place.
    """
    top, *names = key.split('.')
    if top in READ:
        return
    value = cfg._cfg_dict.get(top)
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    places = read_in_place(cfg, key.split('.')[-1], value)
    more = f' and {len(places) - MAX_SHOWN} more' if len(places) > MAX_SHOWN else ''
    hint = (f'; is read: {", ".join(places[:MAX_SHOWN])}{more}' if places else
            f'. Read are {", ".join(sorted(READ))}')
    raise UserError(f'--cfg-options {key}: nothing reads {top}, a variable of the config file{hint}'
                    if top in cfg else
                    f'--cfg-options {key}: nothing reads an entry {top} of a config{hint}')


def read_in_place(cfg: Config, name: str, value: Any) -> list:
    """Keys of entries that are read and that a variable of the file may have given their value.

    Args:
        cfg (Config): Any config.
        name (str): Name of the variable.
        value (Any): Its value, None if it is not known.

    Returns:
        list[str]: Those of the same name, and texts that begin with the value; without these
        those of the same value.
    """
    entries = [(key, found) for top in cfg._cfg_dict if top in READ
               for key, found in _entries(cfg._cfg_dict[top], top)]
    named = [key for key, found in entries if key.split('.')[-1] == name
             or isinstance(value, str) and value and str(found).startswith(value)]
    equal = [] if isinstance(value, (bool, type(None))) else [
        key for key, found in entries if type(found) is type(value) and found == value]
    return named or equal


def variables_without_effect(cfg: Config) -> list:
    """What a file that inherits sets without using it, though the files below it did.

    A variable of an inherited file has been used when the file that inherits it is read.

    Returns:
        list[str]: A line each, with the value that holds.
    """
    path = cfg.filename or ''
    if not path.endswith('.py') or not Path(path).is_file():
        return []
    tree = ast.parse(Path(path).read_text(encoding='utf-8'))
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    targets = [target.id for line in tree.body if isinstance(line, ast.Assign)
               for target in line.targets if isinstance(target, ast.Name)]
    lines = []
    for name in dict.fromkeys(targets):
        if name in used or name in READ or name not in cfg:
            continue
        held = [(key, value) for top in cfg._cfg_dict if top in READ
                for key, value in _entries(cfg._cfg_dict[top], top) if key.split('.')[-1] == name]
        if held and all(value != cfg[name] for _, value in held):
            key, value = held[0]
            lines.append(f'sets {name}={cfg[name]!r}, which nothing reads; {key} is {value!r}')
    return lines


def _entries(node: Any, key: str) -> Iterator:
    yield key, node
    if isinstance(node, dict):
        for name, child in node.items():
            yield from _entries(child, f'{key}.{name}')
    elif isinstance(node, (list, tuple)):
        for index, child in enumerate(node):
            yield from _entries(child, f'{key}.{index}')


def _check_kind(cfg: Config, key: str, value: Any) -> None:
    """Refuse a text or number in place of a dict or of dicts, where it would fail late.

    Raises:
        UserError: If so.
    """
    node = cfg._cfg_dict
    for name in key.split('.'):
        index = int(name) if isinstance(node, (list, tuple)) and name.isdecimal() else None
        if isinstance(node, dict):
            node = node.get(name)
        elif index is not None and index < len(node):
            node = node[index]
        else:
            return
    if not isinstance(value, (str, int, float)) or key == 'compile':  # which may be a bool
        return
    # Others, such as an arch, may be a name or a dict.
    if isinstance(node, dict) and ('type' in node or key.endswith('cfg') or '.' not in key):
        example = next(iter(node), 'key')
        raise UserError(f'--cfg-options {key}={value}: {key} is a dict with '
                        f'{", ".join(map(str, node)) or "nothing"}; change one of its entries, as '
                        f'{key}.{example}=…, or give a dict, as "{key}=dict({example}=…)"')
    if isinstance(node, (list, tuple)) and any(isinstance(child, dict) for child in node):
        raise UserError(f'--cfg-options {key}={value}: {key} is a list of {len(node)} dicts; '
                        f'change an entry of one, as {key}.0.type=…, or give None')
