"""Tables of what a swap has changed."""

from collections.abc import Iterator
from typing import Any, Optional

from mmengine import Config
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..cfg.tree import at, type_name
from .leaf import source
from .plan import Plan
from .refuse import locate_backbone

MAX_WIDTH = 60  # characters of a value


def summary_table(before: Config, after: Config, plan: Plan) -> Table:
    """Both backbones: outputs, parameters, multiply–adds."""
    table = Table(title='backbone on images of {}×{}'.format(*plan.new.size))
    for header in ('', 'before', 'after'):
        table.add_column(header, overflow='ellipsis')
    both = plan.old, plan.new
    table.add_row('type', *(_described(_backbone(cfg)) for cfg in (before, after)))
    for name, key, missing in (('strides', 'stride', 'no map'), ('channels', 'channels', '?')):
        table.add_row(name, *(', '.join(str(getattr(level, key) or missing)
                                        for level in profile.levels) for profile in both))
    table.add_row('parameters, M', *(_counted(one.parameters, 1e6, 'not built') for one in both))
    table.add_row('multiply–adds, G', *(_counted(one.macs, 1e9, 'not counted') for one in both))
    return table


def change_table(before: Config, after: Config) -> Table:
    """All other values that the swap changes: below each key the old and the new one.

    In columns side by side, long keys would leave no room for the values on a narrow terminal.
    """
    table = Table.grid()
    table.title = 'config'
    table.add_column(overflow='ellipsis')
    for key, *values in _leaves(before.to_dict(), after.to_dict()):
        table.add_row(Text(key, no_wrap=True))
        table.add_row(Padding(Text(' → '.join(map(_short, values)), overflow='ellipsis'),
                              (0, 0, 0, 4)))
    return table


def comments(config: str, after: Config, plan: Plan) -> list:
    """Lines for the top of the written config."""
    lines = [f'{config} with {_described(_backbone(after))} as backbone.']
    return lines + [f'{remark}.' for remark in plan.changes.notes + plan.changes.warnings]


def _backbone(cfg: Config) -> dict:
    return at(cfg, locate_backbone(cfg))['backbone']


def _described(backbone: dict) -> str:
    details = [str(backbone[key]) for key in ('arch', 'depth') if key in backbone]
    return ' '.join([type_name(backbone), *(text for text in details if len(text) < 20)])


def _counted(number: Optional[int], unit: float, missing: str) -> str:
    return missing if number is None else f'{number / unit:.2f}'


def _leaves(old: dict, new: dict, prefix: str = '') -> Iterator:
    """Changed keys, each with its old and new value, or with the new one where it had none."""
    for key, value in new.items():
        name = f'{prefix}{key}'
        if name.endswith('backbone'):
            continue
        if key not in old:
            yield name, value
        elif isinstance(value, dict) and isinstance(old[key], dict):
            yield from _leaves(old[key], value, f'{name}.')
        elif value != old[key]:
            yield name, old[key], value


def _short(value: Any) -> str:
    text = source(value)
    return text if len(text) <= MAX_WIDTH else f'{text[:MAX_WIDTH]}…'
