"""Which of our stages stand in for a backbone's outputs."""

from collections.abc import Sequence

from ..backbones.zoo import is_own_name
from ..cfg.tree import type_name
from ..toolboxes import Toolbox
from .probe import Level
from .refuse import SwapRefused

SHALLOW = 8  # a single map of at most this stride comes from a decoder, or from HRNet's branches
PLAIN_NECKS = ('MultiLevelNeck', 'Feature2Pyramid')  # make a pyramid of maps of one stride


def choose_stages(levels: Sequence, natural: Sequence, strides: Sequence,
                  toolbox: Toolbox, part: dict) -> tuple:
    """Match the outputs of a backbone with stages by stride.

    Detectors get exactly the strides that they had, because anchors depend on them. Segmentors
    get the strides that the outputs have without dilation, because their heads ask for depth, not
    for a stride. Classifiers, which pool the last map, get the last stage. One of ours keeps its
    stages.

    Args:
        levels (Sequence[Level]): The outputs.
        natural (Sequence[Level]): The outputs without dilation.
        strides (Sequence[int]): Strides of our stages.
        toolbox (Toolbox): The config's.
        part (dict): The part of the model's config that has the backbone.

    Returns:
        tuple[tuple[int], list[str]]: The stage of each output, and warnings.

    Raises:
        SwapRefused: If the outputs are not maps, or have strides that no stage has.
    """
    name = type_name(part['backbone'])
    if is_own_name(name):
        chosen = part['backbone'].get('out_indices', range(len(strides)))
        return tuple(index % len(strides) for index in chosen), []
    if toolbox.reads_last and len(levels) == 1:
        return (len(strides) - 1, ), _classifier_warnings(levels[0], strides[-1], name)
    if any(level.stride is None for level in levels):
        raise SwapRefused(f'its heads read the tokens of {name}, not a map')
    if toolbox.exact_strides:
        return _exact(levels, strides, part)
    return _by_depth(levels, natural, strides, part)


def _classifier_warnings(level: Level, deepest: int, name: str) -> list:
    if level.dims == 3:
        return [f'the mean of the tokens of {name} becomes the mean of the last map']
    if level.stride is not None and level.stride < deepest:
        return [f'the last map has stride {deepest}, not {level.stride}: of small images it '
                'has few positions']
    return []


def _exact(levels: Sequence, strides: Sequence, part: dict) -> tuple:
    found = [level.stride for level in levels]
    name = type_name(part['backbone'])
    if len(set(found)) < len(found):
        raise SwapRefused(f'{name} returns several maps at one stride ({join(found)}); its heads '
                          'read them as stages of refinement, or their neck resizes them')
    if len(found) == 1 and found[0] <= SHALLOW:
        raise SwapRefused(f'it reads one map at stride {found[0]}, which all layers of {name} '
                          'made, and the first layers of the new backbone make its own; a config '
                          'whose head reads stride 16 or 32 can be used instead')
    missing = [stride for stride in found if stride not in strides]
    if not missing:
        return tuple(strides.index(stride) for stride in found), _unused(max(found), strides)
    neck = part.get('neck')
    if min(missing) > max(strides) and isinstance(neck, dict) and 'num_outs' in neck:
        kept = [stride for stride in found if stride in strides]
        return (tuple(strides.index(stride) for stride in kept),
                [f'the backbone ends at stride {max(strides)}: the neck makes stride '
                 f'{join(missing)} itself'])
    raise SwapRefused(f'it reads {name} at stride {join(missing)}, and the new backbone has '
                      f'{join(strides)}')


def _by_depth(levels: Sequence, natural: Sequence, strides: Sequence, part: dict) -> tuple:
    found = [level.stride for level in natural]
    dilated = [level.stride for level in levels]
    name = type_name(part['backbone'])
    if found != sorted(found):
        raise SwapRefused(f'the strides of {name} fall again ({join(found)}): it has a decoder '
                          'of its own, which would be lost')
    if len(found) > len(strides):
        raise SwapRefused(f'{name} gives {len(found)} maps, and the new backbone has '
                          f'{len(strides)}')
    warnings = []
    if len(set(found)) == 1 and len(found) > 1:
        chosen = tuple(range(len(strides)))[-len(found):]
        warnings.append(f'{name} gives {len(found)} maps at stride {found[0]}; the new ones lie '
                        f'at {join(strides[index] for index in chosen)}')
        return chosen, warnings
    chosen = []
    for position, stride in enumerate(found):
        nearest = min(range(len(strides)), key=lambda i: abs(strides[i] - stride))
        if position and stride == found[position - 1]:
            nearest = min(chosen[-1] + 1, len(strides) - 1)
        chosen.append(nearest)
    new = [strides[index] for index in chosen]
    if found != dilated:
        warnings.append(f'output stride {max(dilated)} by dilation becomes {max(new)}: predictions '
                        'are coarser, and much cheaper')
    elif new != found:
        warnings.append(f'maps at strides {join(found)} become maps at {join(new)}')
    return tuple(chosen), warnings + _unused(max(new), strides)


def _unused(deepest: int, strides: Sequence) -> list:
    if deepest < max(strides):
        return [f'no map of more than stride {deepest} is read: the later stages are not built']
    return []


def join(numbers: Sequence) -> str:
    """Numbers for a message."""
    return ', '.join(str(number) for number in numbers)
