"""Gives the necks and heads of a model the channels that the new backbone has."""

from collections.abc import Sequence
from typing import Any

from ..cfg.tree import as_list, at, dicts_at, type_name
from ..toolboxes import Toolbox
from .changes import Changes
from .refuse import SwapRefused
from .stages import PLAIN_NECKS

POOLING_NECKS = ('GlobalAveragePooling', 'GeneralizedMeanPooling')


def adapt_readers(part: dict, old: Sequence, new: Sequence, toolbox: Toolbox) -> Changes:
    """Give the neck and heads the new input channels.

    Args:
        part (dict): The part of the model's config that has the backbone.
        old (Sequence[Level]): The old backbone's outputs.
        new (Sequence[Level]): The new one's.
        toolbox (Toolbox): The config's.

    Returns:
        Changes: Of the part.

    Raises:
        SwapRefused: If what the neck or a head expects is not what the old backbone gives.
    """
    if toolbox.is_classifier(part):
        return _adapt_classifier(part, old, new)
    before, after = ([level.channels for level in levels] for levels in (old, new))
    others = Changes(tuple(toolbox.dependent_values(part, before, after)))
    path, neck = next(dicts_at(part, 'neck'), ((), None))
    one_stride = len({level.stride for level in old}) == 1 and len(old) > 1
    if neck is None:
        return _adapt_heads(part, before, after, toolbox) + others
    if type_name(neck) not in PLAIN_NECKS or not one_stride:
        return _adapt_neck(part, path, neck, before, after, toolbox) + others
    if toolbox.exact_strides:
        raise SwapRefused('its neck resizes maps of one stride, and anchors depend on the strides')
    gone = Changes(((('neck', ), None), ), warnings=(
        f'the neck {type_name(neck)} is dropped: it made maps of several strides from maps of '
        'one, and the new backbone has several', ))
    return gone + _adapt_heads(part, before, after, toolbox) + others


def match_channels(expected: Any, before: Sequence, after: Sequence, reader: str) -> Any:
    """Translate what a reader expects: one number, or one for each of the levels it reads.

    Args:
        expected (int | list[int] | tuple[int]): The reader's old input channels.
        before (Sequence[int]): Channels of the old backbone's outputs.
        after (Sequence[int]): Those of the new one's, which may lack some of the last.
        reader (str): The reader's name, for the message.

    Raises:
        SwapRefused: If the numbers are not those of the old backbone.
    """
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
    raise SwapRefused(f'{reader} expects {expected} channels, but it gets {list(before)}: '
                      'the config does not fit together')


def _adapt_heads(part: dict, before: Sequence, after: Sequence, toolbox: Toolbox) -> Changes:
    """The heads that read the backbone, or a neck that passes its maps on.

    Args:
        before (Sequence[int]): Channels of the maps that the heads got.
        after (Sequence[int]): Of those that they get.
    """
    values = []
    for reader in toolbox.readers(part):
        node = at(part, reader.path)
        if reader.by_index:
            values += [((*reader.path, key), value)
                       for key, value in _by_index(node, after).items()]
        else:
            values.append(((*reader.path, reader.key),
                           match_channels(node[reader.key], before, after, reader.name)))
    return Changes(tuple(values))


def _adapt_neck(part: dict, path: tuple, neck: dict, before: Sequence, after: Sequence,
                toolbox: Toolbox) -> Changes:
    """The first neck, and the heads where it passes maps on."""
    name = type_name(neck)
    passed = [toolbox.passed_on(neck, channels) for channels in (before, after)]
    if 'in_channels' in neck:
        expected = match_channels(neck['in_channels'], before, after, f'its neck {name}')
        changes = Changes((((*path, 'in_channels'), expected), ))
    elif passed[0] is not None:
        changes = Changes()
    elif name in POOLING_NECKS:
        return _pooled(part, before[-1], after[-1])
    else:
        raise SwapRefused(f'its neck {name} has no in_channels, so what it reads is unknown')
    return changes if passed[0] is None else changes + _adapt_heads(part, *passed, toolbox)


def _pooled(part: dict, before: int, after: int) -> Changes:
    head = part.get('head')
    if isinstance(head, dict) and head.get('in_channels') == before:
        return Changes(((('head', 'in_channels'), after), ))
    return Changes()


def _by_index(head: dict, channels: Sequence) -> dict:
    """New values of a head that says by index which maps it reads."""
    many = isinstance(head['in_channels'], (list, tuple))
    index = head.get('in_index', range(len(channels)) if many else -1)
    indices = list(index) if many else [index]
    if not all(-len(channels) <= i < len(channels) for i in indices):
        raise SwapRefused(f'its head {type_name(head)} reads outputs {indices}, but there are '
                          f'{len(channels)}')
    new = [channels[i] for i in indices]
    values = {'in_channels': type(head['in_channels'])(new) if many else new[0]}
    if head.get('c1_in_channels'):  # DeepLabV3+ also reads the first map
        values['c1_in_channels'] = channels[0]
    return values


def _adapt_classifier(part: dict, old: Sequence, new: Sequence) -> Changes:
    """Classifiers and self-supervised models."""
    necks, head = as_list(part.get('neck')), part.get('head')
    name = type_name(part['backbone'])
    changes = _pool_in_neck(necks, old[-1].dims, name)
    if necks and 'in_channels' in necks[0] and not changes.values:
        path, neck = next(dicts_at(part, 'neck'))
        return changes + Changes((((*path, 'in_channels'), match_channels(
            neck['in_channels'], [level.channels for level in old],
            [level.channels for level in new], f'its neck {type_name(neck)}')), ))
    if not isinstance(head, dict) or 'in_channels' not in head:
        raise SwapRefused(f'its head {type_name(head)} has no in_channels, so what it reads is '
                          'unknown')
    if not isinstance(head['in_channels'], int):
        raise SwapRefused(f'its head {type_name(head)} reads several outputs of {name}')
    return changes + Changes(((('head', 'in_channels'), new[-1].channels), ))


def _pool_in_neck(necks: Sequence, dims: int, name: str) -> Changes:
    """Have the neck pool the last map, where the old backbone gave no map.

    Args:
        necks (Sequence[dict]): Of the config.
        dims (int): Dimensions of the old backbone's last output.
        name (str): The old backbone's.
    """
    if not necks and dims == 2:
        return Changes(((('neck', ), dict(type='GlobalAveragePooling')), ), warnings=(
            f'{name} returned a vector, pooled or of a token: a GlobalAveragePooling neck now '
            'pools the last map', ))
    if necks and dims == 2:
        raise SwapRefused(f'its neck {type_name(necks[0])} reads a vector that {name} made of '
                          'its tokens')
    if necks and dims == 3:
        if type_name(necks[-1]) not in POOLING_NECKS:
            raise SwapRefused(f'its neck {type_name(necks[0])} reads the tokens of {name}')
        return Changes(((('neck', ), dict(type=necks[-1]['type'])), ))
    return Changes()
