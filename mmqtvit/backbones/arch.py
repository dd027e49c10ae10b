"""Sizes and stage layouts of the EfficientViT family."""

from dataclasses import dataclass
from functools import partial
from typing import Optional, Union

from torch import nn

from ..checks import check_dict, check_integer, check_number, is_one_of
from ..layers import DSConv, FusedMBConv, MBConv, ResBlock

NUM_STAGES = 4


@dataclass(frozen=True)
class StageLayout:
    """How one of the stages 1 to 4 is made.

    A stage halves the map with one ``conv`` block and goes on at its width, with residual
    ``conv`` blocks or, in an attention stage, with attention blocks.

    Args:
        conv (type): Class of the convolution blocks, the local part of attention blocks included.
        downsample_expand (int): Expansion ratio of the first block.
        expand (int): Expansion ratio of the others.
        attention (bool): Whether the others are attention blocks. Defaults to False.
        counts_downsample (bool): Whether the first block is one of the stage's ``depth`` blocks
            or comes in addition. Defaults to False.
    """
    conv: type
    downsample_expand: int
    expand: int
    attention: bool = False
    counts_downsample: bool = False

    def num_blocks(self, depth: int) -> int:
        """Number of blocks after the first."""
        return depth - 1 if self.counts_downsample else depth

    def num_branches(self, depth: int) -> int:
        """Number of residual branches; an attention block has two."""
        return self.num_blocks(depth) * (2 if self.attention else 1)


@dataclass(frozen=True)
class Series:
    """What the members of the B or of the L series have in common.

    Args:
        act (type): Class of the activations.
        eps (float): ε of the norms.
        stem_block (type): Class of the residual blocks in the stem.
        drop_stem (bool): Whether stochastic depth includes the stem.
        stages (tuple[StageLayout]): Stages 1 to 4.
    """
    act: type
    eps: float
    stem_block: type
    drop_stem: bool
    stages: tuple


_LEAN_MBCONV = partial(MBConv, fewer_norms=True)

SERIES = {
    'b':
    Series(
        act=nn.Hardswish,
        eps=1e-5,
        stem_block=DSConv,
        drop_stem=False,
        stages=(
            StageLayout(MBConv, 4, 4, counts_downsample=True),
            StageLayout(MBConv, 4, 4, counts_downsample=True),
            StageLayout(_LEAN_MBCONV, 4, 4, attention=True),
            StageLayout(_LEAN_MBCONV, 4, 4, attention=True),
        )),
    'l':
    Series(
        act=partial(nn.GELU, approximate='tanh'),
        eps=1e-7,
        stem_block=ResBlock,
        drop_stem=True,
        stages=(
            StageLayout(FusedMBConv, 16, 4),
            StageLayout(FusedMBConv, 16, 4),
            StageLayout(_LEAN_MBCONV, 16, 4),
            StageLayout(_LEAN_MBCONV, 24, 6, attention=True),
        )),
}

EFFICIENTVIT_ARCHS = {
    'b0': dict(series='b', widths=[8, 16, 32, 64, 128], depths=[1, 2, 2, 2, 2], head_dim=16),
    'b1': dict(series='b', widths=[16, 32, 64, 128, 256], depths=[1, 2, 3, 3, 4], head_dim=16),
    'b2': dict(series='b', widths=[24, 48, 96, 192, 384], depths=[1, 3, 4, 4, 6], head_dim=32),
    'b3': dict(series='b', widths=[32, 64, 128, 256, 512], depths=[1, 4, 6, 6, 9], head_dim=32),
    'l0': dict(series='l', widths=[32, 64, 128, 256, 512], depths=[1, 1, 1, 4, 4], head_dim=32),
    'l1': dict(series='l', widths=[32, 64, 128, 256, 512], depths=[1, 1, 1, 6, 6], head_dim=32),
    'l2': dict(series='l', widths=[32, 64, 128, 256, 512], depths=[1, 2, 2, 8, 8], head_dim=32),
    'l3': dict(series='l', widths=[64, 128, 256, 512, 1024], depths=[1, 2, 2, 8, 8], head_dim=32),
}


def resolve_arch(arch: Union[str, dict], named_archs: dict) -> dict:
    """Look up or check an architecture.

    Args:
        arch (str | dict): A key of ``named_archs``, or a dict with ``series`` ('b' or 'l'),
            ``widths`` and ``depths`` (five numbers, stem first) and ``head_dim``.
        named_archs (dict): The architectures that have a name.

    Returns:
        dict: With the four keys.

    Raises:
        ValueError: If the name is unknown, or the dict has other keys, another number of stages,
            an unknown series, or a width that its heads do not divide.
    """
    if not isinstance(arch, dict):
        if not is_one_of(arch, named_archs):
            raise ValueError(f'arch must be one of {sorted(named_archs)} or a dict, got {arch!r}')
        return named_archs[arch]
    if set(arch) != {'series', 'widths', 'depths', 'head_dim'}:
        raise ValueError(
            f'arch dict needs exactly series, widths, depths and head_dim, got {list(arch)}')
    if not is_one_of(arch['series'], SERIES):
        raise ValueError(f"arch series must be one of {sorted(SERIES)}, got {arch['series']!r}")
    for key in ('widths', 'depths'):
        numbers = arch[key]
        if not isinstance(numbers, (list, tuple)) or len(numbers) != 1 + NUM_STAGES:
            raise ValueError(
                f'arch {key} must be {1 + NUM_STAGES} positive numbers, got {numbers!r}')
        for number in numbers:
            check_integer(f'each of the {1 + NUM_STAGES} arch {key}', number, 1)
    check_integer('arch head_dim', arch['head_dim'], 1)
    for width, layout in zip(arch['widths'][1:], SERIES[arch['series']].stages):
        if layout.attention and width % arch['head_dim']:
            raise ValueError(
                f"head_dim must divide the widths of attention stages, got head_dim "
                f"{arch['head_dim']} and width {width}")
    return arch


def resolve_skipped(skip_attention: Optional[dict], arch: dict, num_stages: int) -> list:
    """Check which attention blocks are skipped.

    Args:
        skip_attention (dict, optional): Indices among a stage's attention blocks by 'stage1' to
            'stage4'.
        arch (dict): As returned by :func:`resolve_arch`.
        num_stages (int): Number of stages that are built.

    Returns:
        list[frozenset[int]]: The indices of each stage.

    Raises:
        ValueError: If a stage has no attention, or no attention before such a block.
    """
    if skip_attention is None:
        skip_attention = {}
    skipped = check_dict('skip_attention, unless None,', skip_attention, 'dict(stage3=[1])')
    depths = zip(SERIES[arch['series']].stages[:num_stages], arch['depths'][1:])
    choices = {
        f'stage{number}': list(range(1, layout.num_blocks(depth)))
        for number, (layout, depth) in enumerate(depths, start=1) if layout.attention
    }
    for stage, blocks in skipped.items():
        if stage not in choices:
            raise ValueError(f'skip_attention takes stages that have attention, '
                             f'{list(choices)}, got {stage!r} in {skip_attention}')
        listed = isinstance(blocks, (list, tuple))
        if not listed or not all(is_one_of(block, choices[stage]) for block in blocks):
            raise ValueError(f"skip_attention's {stage} must list some of {choices[stage]} (block "
                             f'0 has no attention before it in the stage), got {blocks!r}')
    return [frozenset(skipped.get(f'stage{1 + index}', ())) for index in range(num_stages)]


def drop_path_rates(arch: dict, max_rate: float, num_skipped: int) -> list:
    """Rates of stochastic depth that grow linearly with depth, as in the published training.

    Residual branches are counted one by one, an attention block having two. Branch i of the n
    that are not skipped gets ``max_rate · (i + 1) / n``. The published training also multiplies
    all rates by its progress from 0 to 1; this package does not.

    Args:
        arch (dict): As returned by :func:`resolve_arch`.
        max_rate (float): Rate of the last branch.
        num_skipped (int): Number of first branches that keep rate 0.

    Returns:
        list[list[float]]: The rates of the stem's branches, then of each stage's.

    Raises:
        ValueError: If the rate or the number is out of range.
    """
    check_number('drop_path_rate', max_rate, least=0, below=1)
    check_integer('num_undropped', num_skipped, 0)
    series = SERIES[arch['series']]
    counts = [arch['depths'][0] if series.drop_stem else 0]
    counts += [
        layout.num_branches(depth) for layout, depth in zip(series.stages, arch['depths'][1:])
    ]
    num_dropped = max(sum(counts) - num_skipped, 1)
    rates = iter(max_rate * max(i + 1 - num_skipped, 0) / num_dropped for i in range(sum(counts)))
    per_stage = [[next(rates) for _ in range(count)] for count in counts]
    if not series.drop_stem:
        per_stage[0] = [0.] * arch['depths'][0]
    return per_stage
