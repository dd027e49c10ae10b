"""Writes down, as Markdown, what a sweep over the toolboxes' configs has found."""

from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version

from ..toolboxes import get_toolbox
from .sweep import BROKEN, FAILED, LONG_SIDE, REFUSED, RUNS

INTRODUCTION = """# Configs that take our backbone

What `tools/swap_backbone.py CONFIG --arch {arch}` makes of the configs in the toolboxes' wheels,
{chosen}.
Each is swapped, written, read again and swapped once more, which must change nothing; then the
model is built with random weights, predicts on one image of noise and takes a loss step with
gradients on two, at most {long_side} pixels a side where the model allows it. This file is written
by

    {command}

with {versions}, on a CPU.

- **runs**: all of this went well; the remark is what the tool warns of. That nothing is frozen
  without a checkpoint, which it tells of most detectors, is left out.
- **refused**: the tool writes nothing and says why.
- **broken before**: the original cannot be read, or does not predict or train here, on a CPU,
  either.
- **failed**: the original runs and the swapped one does not.

Shares are of the configs whose model, or the detector in it, has a `backbone`.
"""


def coverage_report(results: Sequence, command: str, every: bool = False) -> str:
    """Counts by toolbox, then each family with what became of it.

    Args:
        results (Sequence[Result]): At least one, as from :func:`run_sweep`.
        command (str): The command line that made them.
        every (bool): As for :func:`list_configs`. Defaults to False.
    """
    toolboxes = list(dict.fromkeys(_toolbox(result) for result in results))
    packages = ['torch', 'mmengine', 'mmcv', *(get_toolbox(name).package for name in toolboxes)]
    chosen = 'all of them' if every else (
        'the first of each metafile, and of folders without one the first by name')
    introduction = INTRODUCTION.format(
        arch=results[0].arch, chosen=chosen, long_side=LONG_SIDE, command=command,
        versions=', '.join(f'{package} {version(package)}' for package in packages))
    sections = [_section(toolbox, [result for result in results if _toolbox(result) == toolbox])
                for toolbox in toolboxes]
    return '\n'.join([introduction, counts_table(results), *sections])


def counts_table(results: Sequence) -> str:
    """How many configs of each toolbox have which outcome."""
    lines = [f'| toolbox | configs | with a backbone | {RUNS} | {REFUSED} | {BROKEN} | {FAILED} |',
             '| --- | --- | --- | --- | --- | --- | --- |']
    for toolbox in dict.fromkeys(_toolbox(result) for result in results):
        own = [result for result in results if _toolbox(result) == toolbox]
        counts = Counter(result.outcome for result in own)
        subjects = sum(bool(result.backbone) for result in own)
        share = f' ({counts[RUNS] / subjects:.0%})' if subjects else ''
        lines.append(f'| {toolbox} | {len(own)} | {subjects} | {counts[RUNS]}{share} | '
                     f'{counts[REFUSED]} | {counts[BROKEN]} | {counts[FAILED]} |')
    return '\n'.join(lines) + '\n'


def _section(toolbox: str, results: Sequence) -> str:
    lines = [f'## {toolbox}', '', '| family | config | backbone | outcome | remarks |',
             '| --- | --- | --- | --- | --- |']
    for result in results:
        name = result.config.split('/', 1)[-1].removesuffix('.py')
        remarks = (result.reason or result.warnings).replace('|', r'\|')
        lines.append(f'| {result.family} | {name} | {result.backbone} | {result.outcome} | '
                     f'{remarks} |')
    return '\n'.join(lines) + '\n'


def _toolbox(result: object) -> str:
    return result.config.split('::')[0]
