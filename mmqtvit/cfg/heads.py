"""Asks a config for how many classes its heads are."""

from collections.abc import Iterator, Sequence
from typing import Any

from mmengine import Config


def head_classes(cfg: Config, heads: Sequence) -> dict:
    """Numbers of classes of a model's heads.

    Args:
        cfg (Config): A toolbox's config.
        heads (Sequence[str]): Their keys, such as 'bbox_head'.

    Returns:
        dict[str, int]: By their keys, such as 'model.bbox_head.num_classes'.
    """
    return dict(_below(cfg.get('model'), heads, 'model'))


def _below(node: Any, heads: Sequence, key: str) -> Iterator:
    if isinstance(node, (list, tuple)):
        for index, child in enumerate(node):
            yield from _below(child, heads, f'{key}.{index}')
    elif isinstance(node, dict):
        inside = any(name in heads for name in key.split('.'))
        if inside and isinstance(node.get('num_classes'), int):
            yield f'{key}.num_classes', node['num_classes']
        for name, child in node.items():
            yield from _below(child, heads, f'{key}.{name}')
