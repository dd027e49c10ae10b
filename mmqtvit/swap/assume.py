"""What the readers of a backbone tell of its outputs, where it cannot be built."""

from collections.abc import Sequence
from typing import Optional

from ..cfg.tree import as_list, at, dicts_at, type_name
from ..toolboxes import Toolbox
from .probe import BackboneProfile, Level
from .refuse import SwapRefused
from .stages import PLAIN_NECKS, join

USUAL = (4, 8, 16, 32)  # strides of four maps
PLAIN = (16, 16, 16, 16)  # of a plain transformer's


def assume_profile(part: dict, toolbox: Toolbox, size: tuple,
                   strides: Optional[Sequence] = None) -> BackboneProfile:
    """Take the widths of the outputs from the readers, and their strides from their number.

    Args:
        part (dict): The part of the model's config that has the backbone.
        toolbox (Toolbox): The config's.
        size (tuple[int, int]): (height, width) of the images, in pixels.
        strides (Sequence[int], optional): Of the outputs, as the user says. Defaults to None:
            4, 8, 16 and 32 of four maps, and any of the one map that a classifier pools.

    Returns:
        BackboneProfile: Without numbers of parameters and multiply-adds.

    Raises:
        SwapRefused: If the strides cannot be assumed, or are not as many as the outputs.
    """
    widths = _widths(part, toolbox)
    if toolbox.reads_last and len(widths) == 1 and not strides:
        dims = 4 if part.get('neck') else 2  # without a neck the backbone pools
        levels = Level(widths[0], None, dims),
    else:
        strides = strides or _usual(part, len(widths))
        if widths and len(strides) != len(widths):
            raise SwapRefused(f'{type_name(part["backbone"])} has {len(widths)} outputs by what '
                              f'its readers take, got --old-strides {join(strides)}')
        levels = tuple(map(Level, widths or [None] * len(strides), strides))
    return BackboneProfile(levels, None, None, size, ())


def _usual(part: dict, number: int) -> tuple:
    neck = next((neck for _, neck in dicts_at(part, 'neck')), None)
    if number != len(USUAL):
        known = f'its readers take {number} of its maps' if number else 'how many maps it has'
        raise SwapRefused(
            f'its backbone {type_name(part["backbone"])} cannot be built here, and {known}'
            f'{"" if number else " is not known"}: name the strides of its outputs, such as '
            '--old-strides 8,16,32')
    return PLAIN if type_name(neck) in PLAIN_NECKS else USUAL


def _widths(part: dict, toolbox: Toolbox) -> list:
    """Channels of each output; None where nothing reads it; no list where the number is unknown."""
    neck = next((neck for _, neck in dicts_at(part, 'neck')), {})
    if 'in_channels' in neck:
        return _shallow_first(as_list(neck['in_channels']))
    if toolbox.is_classifier(part):
        return as_list((part.get('head') or {}).get('in_channels'))
    read, lists = {}, []
    for reader in toolbox.readers(part):
        node = at(part, reader.path)
        widths = as_list(node[reader.key])
        many = isinstance(node[reader.key], (list, tuple))
        if reader.by_index:
            index = node.get('in_index', tuple(range(len(widths))) if many else -1)
            read.update(zip(as_list(index), widths))
        else:
            lists.append(_shallow_first(widths))
    if not read:
        return max(lists, key=len, default=[])
    if min(read) >= 0:
        return [read.get(index) for index in range(max(read) + 1)]
    number = len(as_list(part['backbone'].get('out_indices')))  # some count from the last
    return [read.get(index, read.get(index - number)) for index in range(number)]


def _shallow_first(widths: list) -> list:
    return widths[::-1] if widths[0] > widths[-1] else widths
