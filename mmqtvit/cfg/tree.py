"""Reads the nested dicts and lists that a config is.

A path is a tuple of the keys and indices that lead from a node to one inside it.
"""

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
    """All dicts with a type in a part of a config, the outer before the inner."""
    return (child for _, child in typed_paths(node))


def typed_paths(node: Any, path: tuple = ()) -> Iterator:
    """All dicts with a type in a part of a config, as pairs of path and dict.

    Args:
        node (Any): The part.
        path (tuple): Its own path, with which those of the pairs begin. Defaults to ().
    """
    if isinstance(node, dict):
        if type_name(node):
            yield path, node
        children = node.items()
    else:
        children = enumerate(node) if isinstance(node, (list, tuple)) else ()
    for key, child in children:
        yield from typed_paths(child, (*path, key))


def dicts_at(node: dict, key: str) -> Iterator:
    """The dict under a key, or the dicts of a list there, as pairs of path and dict."""
    value = node.get(key)
    if isinstance(value, dict):
        yield (key, ), value
    elif isinstance(value, (list, tuple)):
        for index, child in enumerate(value):
            if isinstance(child, dict):
                yield (key, index), child


def at(node: Any, path: tuple) -> Any:
    """What lies at a path."""
    for key in path:
        node = node[key]
    return node


def with_value(node: Any, path: tuple, value: Any) -> Any:
    """A copy of nested dicts and lists with another value at a path; the rest is shared."""
    if not path:
        return value
    key, *rest = path
    if isinstance(node, dict):
        return {**node, key: with_value(node.get(key), rest, value)}
    children = list(node)
    children[key] = with_value(children[key], rest, value)
    return type(node)(children)
