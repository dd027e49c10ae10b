"""Gives the necks and heads of a model the channels that the new backbone has."""

from collections.abc import Sequence
from typing import Any, Optional

from ..toolboxes import get_toolbox
from .refuse import SwapRefused, as_list, type_name
from .stages import PLAIN_NECKS

POOLING_NECKS = ('GlobalAveragePooling', 'GeneralizedMeanPooling')


def adapt_readers(part: dict, old: Sequence, new: Sequence, scope: str) -> list:
    """Change the neck's and heads' input channels in place.

    Args:
        part (dict): The part of the model's config that has the backbone.
        old (Sequence[Level]): The old backbone's outputs.
        new (Sequence[Level]): The new one's.
        scope (str): Name of the toolbox.

    Returns:
        list[str]: Warnings.

    Raises:
        SwapRefused: If what the neck or a head expects is not what the old backbone gives.
    """
    toolbox = get_toolbox(scope)
    if toolbox.is_classifier(part):
        return _adapt_classifier(part, old, new)
    channels, warnings = [level.channels for level in new], []
    neck = as_list(part.get('neck'))
    plain = len({level.stride for level in old}) == 1 and len(old) > 1
    if neck and type_name(neck[0]) in PLAIN_NECKS and plain:
        warnings.append(f'the neck {type_name(neck[0])} is gone: it made a pyramid of maps of one '
                        'stride, and the new backbone has a pyramid')
        part['neck'], neck = None, []
        if toolbox.exact_strides:
            raise SwapRefused('a detector whose neck resizes maps of one stride')
    if neck:
        channels = _adapt_neck(part, neck[0], old, new, scope)
    if channels is None:
        return warnings
    for reader in toolbox.readers(part):
        if reader.by_index:
            _set_by_index(reader.node, channels)
        else:
            reader.node[reader.key] = match_channels(
                reader.node[reader.key], old, new, reader.name)
    return warnings


def match_channels(expected: Any, old: Sequence, new: Sequence, reader: str) -> Any:
    """Translate what a reader expects: one number, or one for each of the levels it reads.

    Args:
        expected (int | list[int] | tuple[int]): The reader's old input channels.
        old (Sequence[Level]): The old backbone's outputs.
        new (Sequence[Level]): The new one's; may lack some of the last.
        reader (str): The reader's name, for the message.

    Raises:
        SwapRefused: If the numbers are not those of the old backbone.
    """
    before, after = [level.channels for level in old], [level.channels for level in new]
    if isinstance(expected, int):
        if expected in before[:len(after)]:
            return after[len(before[:len(after)]) - 1 - before[:len(after)][::-1].index(expected)]
    else:
        asked, kind = list(expected), type(expected)
        if asked == before:
            return kind(after)
        if asked == before[::-1]:  # YOLOv3 counts from the deepest
            return kind(after[::-1])
        for start in range(len(before) - len(asked) + 1):
            if asked == before[start:start + len(asked)]:
                return kind(after[start:start + len(asked)])
    raise SwapRefused(f'{reader} expects {expected} channels, but the backbone gives '
                      f'{before}: the config does not fit together')


def _adapt_neck(part: dict, neck: dict, old: Sequence, new: Sequence,
                scope: str) -> Optional[list]:
    """Adapt the first neck; return the channels that heads get from it, None if unchanged."""
    name = type_name(neck)
    if 'in_channels' in neck:
        neck['in_channels'] = match_channels(neck['in_channels'], old, new, f'its neck {name}')
        channels = [level.channels for level in new]
        if name == 'JPU':  # lets all maps but the last pass
            width = neck.get('mid_channels', 512) * len(neck.get('dilations', (1, 2, 4, 8)))
            return channels[neck.get('start_level', 0):-1] + [width]
        if name == 'SSDNeck':  # lets the backbone's maps pass and adds smaller ones
            kind = type(neck['out_channels'])
            neck['out_channels'] = kind([*channels, *neck['out_channels'][len(old):]])
            neck['in_channels'] = kind(channels)
            part['bbox_head']['in_channels'] = neck['out_channels']
        return None
    if name in POOLING_NECKS:
        _pool_to(part, old[-1].channels, new[-1].channels)
        return None
    raise SwapRefused(f'its neck {name} has no in_channels, so what it reads is unknown')


def _pool_to(part: dict, before: int, after: int) -> None:
    head = part.get('head')
    if isinstance(head, dict) and head.get('in_channels') == before:
        head['in_channels'] = after


def _set_by_index(head: dict, channels: Sequence) -> None:
    many = isinstance(head['in_channels'], (list, tuple))
    index = head.get('in_index', range(len(channels)) if many else -1)
    indices = list(index) if many else [index]
    if not all(-len(channels) <= i < len(channels) for i in indices):
        raise SwapRefused(f'its head {type_name(head)} reads outputs {indices}, but there are '
                          f'{len(channels)}')
    new = [channels[i] for i in indices]
    head['in_channels'] = type(head['in_channels'])(new) if many else new[0]
    if head.get('c1_in_channels'):  # DeepLabV3+ reads the first map beside
        head['c1_in_channels'] = channels[0]


def _adapt_classifier(part: dict, old: Sequence, new: Sequence) -> list:
    """Classifiers and self-supervised models."""
    neck, head = as_list(part.get('neck')), part.get('head')
    name, warnings = type_name(part['backbone']), []
    pooled = bool(neck) and type_name(neck[-1]) in POOLING_NECKS
    if not neck and old[-1].dims == 2:
        part['neck'] = dict(type='GlobalAveragePooling')
        warnings.append(f'{name} pools its last map, or reads a token, itself: a '
                        'GlobalAveragePooling neck now does')
        pooled = True
    elif neck and old[-1].dims == 2:
        raise SwapRefused(f'its neck {type_name(neck[0])} reads a vector that {name} made of '
                          'its tokens')
    elif pooled and old[-1].dims == 3:
        part['neck'] = dict(type=neck[-1]['type'])
    elif neck and not pooled and old[-1].dims == 3:
        raise SwapRefused(f'its neck {type_name(neck[0])} reads the tokens of {name}')
    if neck and 'in_channels' in neck[0]:
        neck[0]['in_channels'] = match_channels(
            neck[0]['in_channels'], old, new, f'its neck {type_name(neck[0])}')
        return warnings
    if not isinstance(head, dict) or 'in_channels' not in head:
        raise SwapRefused(f'its head {type_name(head)} has no in_channels, so what it reads is '
                          'unknown')
    if not isinstance(head['in_channels'], int):
        raise SwapRefused(f'its head {type_name(head)} reads several outputs of {name}')
    head['in_channels'] = new[-1].channels
    return warnings
