"""Times and memory of attention kernels alone, over the number of tokens."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Optional

import torch
from torch import Tensor
from tqdm import tqdm

from ..attention import KERNELS, AttentionKernel, build_kernel
from ..errors import UserError
from .figure import plt, save_figure
from .limits import Limits
from .literal import LiteralQuadraticTaylor
from .models import parse_kernel
from .timing import Case, Measurement, Schedule, measure

LITERAL = 'literal'


def build(text: str, head_dim: int) -> AttentionKernel:
    """Build a kernel from its name and options, or the literal form, the same one each time.

    Raises:
        UserError: If the name or an option is unknown.
    """
    if text == LITERAL:
        return LiteralQuadraticTaylor(head_dim)
    try:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return build_kernel(parse_kernel(text, [*KERNELS, LITERAL]), head_dim)
    except (TypeError, ValueError) as error:
        raise UserError(f'cannot build kernel {text}: {error}') from error


def make_case(text: str, size: tuple, groups: int, head_dim: int, dtype: str, pass_: str,
              device: torch.device) -> Case:
    """Build one kernel and what is to be timed of it.

    Args:
        text (str): Kernel, see :func:`build`.
        size (tuple[int, int]): (H, W) of the map.
        groups (int): Number of groups, G.
        head_dim (int): Channels per group, d.
        dtype (str): Of q, k and v.
        pass_ (str): 'forward', or 'train' for forward and backward.
        device (torch.device): Where it computes.
    """
    training = pass_ == 'train'
    kernel = build(text, head_dim).to(device).train(training)
    shape = (1, groups, head_dim, size[0] * size[1])
    inputs = [torch.randn(shape, device=device, dtype=getattr(torch, dtype),
                          requires_grad=training) for _ in range(3)]
    labels = {'kernel': text, 'size': f'{size[0]}x{size[1]}', 'dtype': dtype, 'pass': pass_}
    if not training:
        return Case(labels, partial(_forward, kernel, inputs, size))
    forward = partial(kernel, *inputs, size)
    leaves = [*inputs, *kernel.parameters()]
    return Case(labels, partial(_forward_backward, forward, leaves), forward,
                [*leaves, *kernel.buffers()])


def _forward(kernel: AttentionKernel, inputs: Sequence, size: tuple) -> Tensor:
    with torch.no_grad():
        return kernel(*inputs, size)


def _forward_backward(forward: partial, leaves: Sequence) -> None:
    out = forward()
    torch.autograd.grad(out, leaves, torch.ones_like(out), allow_unused=True)


def run(kernels: Sequence, sizes: Sequence, groups: int, head_dim: int, dtype: str,
        passes: Sequence, device: torch.device, schedule: Schedule) -> list:
    """Measure all combinations, the kernels of one size in turns, with a progress bar.

    Args:
        kernels (Sequence[str]): See :func:`build`.
        sizes (Sequence[tuple[int, int]]): (H, W) of the maps.
        groups (int): Number of groups, G.
        head_dim (int): Channels per group, d.
        dtype (str): Of q, k and v.
        passes (Sequence[str]): Some of 'forward' and 'train'.
        device (torch.device): Where they compute.
        schedule (Schedule): How often.

    Raises:
        UserError: If a kernel is unknown.
    """
    for text in kernels:
        build(text, head_dim)
    measurements = []
    with tqdm(total=len(passes) * len(sizes) * len(kernels), desc='measuring', unit='case') as bar:
        for pass_ in passes:
            for size in sizes:
                cases = [make_case(text, size, groups, head_dim, dtype, pass_, device)
                         for text in kernels]
                measurements += measure(cases, device, schedule, bar)
    return measurements


def tokens(measurement: Measurement) -> int:
    """Number of tokens of a measurement's map."""
    height, width = measurement.labels['size'].split('x')
    return int(height) * int(width)


def least_ms(limits: Limits, groups: int, head_dim: int,
             measurement: Measurement) -> Optional[float]:
    """The least time of a measurement's kernel in ms; None for a pass that has no such bound."""
    labels = measurement.labels
    if labels['pass'] != 'forward':
        return None
    itemsize = torch.empty((), dtype=getattr(torch, labels['dtype'])).itemsize
    return 1e3 * limits.seconds(build(labels['kernel'], head_dim), groups, tokens(measurement),
                                itemsize)


def plot_scaling(measurements: Sequence, title: str, path: Path) -> None:
    """Draw time and memory against the number of tokens, both axes logarithmic.

    Args:
        measurements (Sequence[Measurement]): From :func:`run`.
        title (str): Conditions in short.
        path (Path): Picture to write.
    """
    figure, (times, memory) = plt.subplots(1, 2, figsize=(10, 4.2), constrained_layout=True)
    lines = {}
    for measurement in measurements:
        labels = measurement.labels
        lines.setdefault((labels['kernel'], labels['pass']), []).append(measurement)
    kernels = list(dict.fromkeys(kernel for kernel, _ in lines))
    for (kernel, pass_), line in lines.items():
        style = dict(color=f'C{kernels.index(kernel)}', label=f'{kernel}, {pass_}', marker='o',
                     markersize=4, linestyle='-' if pass_ == 'forward' else '--')
        line.sort(key=tokens)
        places = [tokens(measurement) for measurement in line]
        times.plot(places, [m.median * 1e3 for m in line], **style)
        times.fill_between(places, *zip(*[[1e3 * q for q in m.quartiles] for m in line]),
                           color=style['color'], alpha=0.2)
        memory.plot(places, [(m.peak or 0) / 1e6 for m in line], **style)
    times.set(ylabel='median, ms')
    memory.set(ylabel='peak memory, MB')
    for axis in (times, memory):
        axis.set(xlabel='tokens', xscale='log', yscale='log')
        axis.grid(alpha=0.3)
    figure.suptitle(title, size=9)
    figure.legend(*times.get_legend_handles_labels(), loc='outside lower center', ncols=2)
    save_figure(figure, path)
