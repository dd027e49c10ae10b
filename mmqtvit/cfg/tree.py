"""Reads the nested dicts and lists that a config is."""

from collections.abc import Iterator
from typing import Any


def type_name(part: Any) -> str:
    """Name of the class that a part of a config builds, without scope and module; '' for none."""
    kind = part.get('type') if isinstance(part, dict) else None
    return '' if kind is None else getattr(kind, '__name__', str(kind)).split('.')[-1]


def as_list(value: Any) -> list:
    """A list of what may be one, several or none."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def typed(node: Any) -> Iterator:
    """All dicts with a type in a part of a config."""
    if isinstance(node, (list, tuple)):
        for child in node:
            yield from typed(child)
    elif isinstance(node, dict):
        if type_name(node):
            yield node
        yield from typed(list(node.values()))
