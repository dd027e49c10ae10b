"""Tables of what a swap has changed."""

from collections.abc import Iterator
from typing import Any

from mmengine import Config
from rich.table import Table

from ..cfg.tree import at, type_name
from .leaf import difference, source
from .plan import Plan
from .probe import BackboneProfile
from .refuse import locate_backbone

MAX_WIDTH = 60


def summary_table(before: Config, after: Config, plan: Plan) -> Table:
    """Both backbones: outputs, parameters, multiply–adds."""
    table = _table('', 'backbone')
    both = plan.old, plan.new
    table.add_row('type', *(_described(_backbone(cfg)) for cfg in (before, after)))
    table.add_row('stride: channels', *(_levels(one) for one in both))
    table.add_row('parameters, M', *(
        'not built' if one.parameters is None else f'{one.parameters / 1e6:.2f}' for one in both))
    height, width = plan.new.size
    table.add_row(f'multiply–adds at {height}×{width}, G', *(
        'not counted' if one.macs is None else f'{one.macs / 1e9:.2f}' for one in both))
    return table


def change_table(before: Config, after: Config) -> Table:
    """All other values that the swap changes."""
    table = _table('key', 'config')
    old = before.to_dict()
    for key, value in _leaves(difference(old, after.to_dict()), old):
        table.add_row(key, _short(_value_at(old, key)), _short(value))
    return table


def comments(config: str, after: Config, plan: Plan) -> list:
    """Lines for the top of the written config."""
    lines = [f'{config} with {_described(_backbone(after))} as backbone.']
    return lines + [f'{remark}.' for remark in plan.changes.notes + plan.changes.warnings]


def _backbone(cfg: Config) -> dict:
    return at(cfg, locate_backbone(cfg))['backbone']


def _table(first: str, title: str) -> Table:
    table = Table(title=title)
    for header in (first, 'before', 'after'):
        table.add_column(header, no_wrap=header == first, overflow='ellipsis')
    return table


def _described(backbone: dict) -> str:
    details = [str(backbone[key]) for key in ('arch', 'depth') if key in backbone]
    return ' '.join([type_name(backbone), *(text for text in details if len(text) < 20)])


def _levels(profile: BackboneProfile) -> str:
    return ', '.join(
        f'{level.stride or "no map"}: {level.channels or "?"}'
        for level in profile.levels)


def _leaves(changes: dict, old: Any, prefix: str = '') -> Iterator:
    for key, value in changes.items():
        name = f'{prefix}{key}'
        if name.endswith('backbone') or key == '_delete_':
            continue
        before = old.get(key) if isinstance(old, dict) else None
        if isinstance(value, dict) and isinstance(before, dict):
            yield from _leaves(value, before, f'{name}.')
        elif value != before:  # what is deleted comes whole
            yield name, value


def _value_at(node: Any, key: str) -> Any:
    for name in key.split('.'):
        if not isinstance(node, dict) or name not in node:
            return ''
        node = node[name]
    return node


def _short(value: Any) -> str:
    text = value if value == '' else source(value)
    return text if len(text) <= MAX_WIDTH else f'{text[:MAX_WIDTH]}…'
