"""What attention kernels cost in one backbone."""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn
from tqdm import tqdm

from ..attention import KERNELS
from ..backbones import QTViT
from ..backbones.arch import NUM_STAGES, SERIES
from ..backbones.zoo import build_backbone, family_of
from ..errors import UserError
from . import operators
from .benchmark import EAGER, PASSES, case_of
from .counting import Part, count
from .figure import plt, save_figure
from .models import parse_kernel
from .tables import table
from .timing import Measurement, Schedule, measure, ratios

COUNTS = ('parameters, M', 'attention, G MACs', 'whole, G MACs', 'attention, %')


class KernelCost(NamedTuple):
    """Of one kernel at one size of map.

    Args:
        kernel (str): Name and options.
        size (str): Of the first attention stage's map, 'HxW'.
        count (Part): Parameters and multiply-adds of the backbone.
        passes (dict[str, Measurement]): By 'forward' and 'train'.
    """
    kernel: str
    size: str
    count: Part
    passes: dict

    def record(self) -> dict:
        """Sum up as one flat dict, as a line of CSV has it."""
        record = dict(kernel=self.kernel, map=self.size, params=self.count.params,
                      macs=self.count.macs, attention_macs=self.count.attention_macs)
        for name, measurement in self.passes.items():
            record.update((f'{name}_{key}', value) for key, value in measurement.record().items()
                          if key not in measurement.labels)
        return record


def build(arch: str, kernel: str) -> nn.Module:
    """Build a backbone with another kernel, with the same random weights each time.

    Raises:
        UserError: If the kernel is unknown.
    """
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build_backbone(arch, attention=parse_kernel(kernel, list(KERNELS))).eval()


def attention_stride(arch: str) -> int:
    """Stride of the first attention stage's map, in pixels."""
    return 4 * 2**_first_attention(arch)


def _first_attention(arch: str) -> int:
    """Index of the first stage that has attention."""
    stages = SERIES[family_of(arch).cls.ARCHS[arch]['series']].stages
    return next(i for i in range(NUM_STAGES) if stages[i].attention)


def compare(kernels: Sequence, sizes: Sequence, arch: str, batch: int, device: torch.device,
            schedule: Schedule) -> list:
    """Count, and measure in turns, a backbone with one kernel after the other.

    Args:
        kernels (Sequence[str]): Names of ``KERNELS``, with options as 'ReLULinear:eps=1e-5'.
        sizes (Sequence[tuple[int, int]]): (H, W) of the first attention stage's map; the images are
            larger by its stride.
        arch (str): Name of a backbone.
        batch (int): Images at once.
        device (torch.device): Where to measure.
        schedule (Schedule): How often.

    Returns:
        list[KernelCost]: By size, then by kernel.

    Raises:
        UserError: If a kernel or an option is unknown, or the maps are too small to train on.
    """
    # The last map: each stage after the first with attention halves the sides.
    halvings = NUM_STAGES - _first_attention(arch) - 1
    for size in sizes:
        if batch * prod(-(-side // 2**halvings) for side in size) < 2:
            raise UserError(f'--map-sizes {size[0]}x{size[1]}: a batch norm cannot train on one '
                            'position of one image: take larger maps, or --batch 2')
    head_dim = family_of(arch).cls.ARCHS[arch]['head_dim']
    for kernel in kernels:  # before anything takes time
        parse_kernel(kernel, list(KERNELS))
        operators.build(kernel, head_dim)
    costs = []
    with tqdm(total=len(sizes) * len(kernels) * len(PASSES), desc='measuring', unit='case') as bar:
        for size in sizes:
            images = torch.rand(batch, 3, *(attention_stride(arch) * side for side in size),
                                device=device)
            measured = {}
            for pass_ in PASSES:
                cases = [case_of(build(arch, kernel).to(device), images, {
                    'kernel': kernel, 'size': f'{size[0]}x{size[1]}', 'mode': EAGER,
                    'dtype': 'float32', 'pass': pass_}) for kernel in kernels]
                measured[pass_] = measure(cases, device, schedule, bar)
            for kernel, *passes in zip(kernels, *measured.values()):
                counted = count(partial(build, arch, kernel), images.shape[-2:]).total
                costs.append(KernelCost(kernel, passes[0].labels['size'], counted,
                                  dict(zip(measured, passes))))
    return costs


def describe(costs: Sequence) -> str:
    """Write the costs as a table; ratios are to the first kernel at the same size."""
    compared = {name: list(ratios([cost.passes[name] for cost in costs], ['size']))
                for name in PASSES}
    header = ['kernel', 'map', *COUNTS]
    for name in PASSES:
        header += [f'{name}, ms', 'quartiles', 'calls', 'ratio', 'peak, MB']
    rows = []
    for index, cost in enumerate(costs):
        row = [cost.kernel, cost.size, *_counts(cost.count)]
        for name, measurement in cost.passes.items():
            row += [measurement.median * 1e3,
                    ' to '.join(f'{1e3 * quartile:.4g}' for quartile in measurement.quartiles),
                    len(measurement.times), round(compared[name][index], 3),
                    _megabytes(measurement)]
        rows.append(row)
    return table(header, rows)


def _counts(part: Part) -> tuple:
    return (part.params / 1e6, part.attention_macs / 1e9, part.macs / 1e9,
            100 * part.attention_macs / part.macs)


def _megabytes(measurement: Measurement) -> float:
    """Peak memory in MB, NaN where the device does not count."""
    return float('nan') if measurement.peak is None else measurement.peak / 1e6


def describe_shares(size: tuple) -> str:
    """Write the share of attention in the multiply-adds of QT-ViT-1 to 6 as a table.

    Args:
        size (tuple[int, int]): (H, W) of the image.
    """
    rows = []
    for arch in tqdm(QTViT.ARCHS, desc='counting', unit='model'):
        rows.append((arch, *_counts(count(lambda arch=arch: QTViT(arch).eval(), size).total)))
    return table(('backbone', *COUNTS), rows)


#: Title and value of the panels of the picture.
PANELS = (
    ('attention, G MACs', lambda cost: cost.count.attention_macs / 1e9),
    ('forward, ms', lambda cost: cost.passes['forward'].median * 1e3),
    ('training step, ms', lambda cost: cost.passes['train'].median * 1e3),
    ('forward, peak MB', lambda cost: _megabytes(cost.passes['forward'])),
    ('training step, peak MB', lambda cost: _megabytes(cost.passes['train'])),
)


def plot(costs: Sequence, title: str, path: Path) -> None:
    """Draw the costs as bars, a panel for each quantity.

    Args:
        costs (Sequence[KernelCost]): From :func:`compare`.
        title (str): Conditions in short.
        path (Path): Picture to write.
    """
    kernels = list(dict.fromkeys(cost.kernel for cost in costs))
    sizes = list(dict.fromkeys(cost.size for cost in costs))
    height = 0.8 / len(sizes)
    figure, axes = plt.subplots(
        1, len(PANELS), figsize=(3 * len(PANELS) + 2, 1.8 + 0.25 * len(kernels) * len(sizes)),
        sharey=True, constrained_layout=True)
    for axis, (name, value) in zip(axes, PANELS):
        for number, size in enumerate(sizes):
            _bars(axis, [cost for cost in costs if cost.size == size], value, kernels, height,
                  (number + 0.5) * height - 0.4, f'C{number}')
        axis.set_xlabel(name)
        axis.margins(x=0.25, y=0.02)  # for the numbers
        axis.grid(axis='x', alpha=0.3)
    axes[0].set_yticks(range(len(kernels)), kernels)
    axes[0].invert_yaxis()
    figure.suptitle(title, size=9)
    figure.legend([f'map of {size.replace("x", "×")}' for size in sizes],
                  loc='outside lower center', ncols=len(sizes))
    save_figure(figure, path)


def _bars(axis: plt.Axes, costs: Sequence, value: Callable, kernels: Sequence, height: float,
          offset: float, colour: str) -> None:
    places = [kernels.index(cost.kernel) + offset for cost in costs]
    bars = axis.barh(places, list(map(value, costs)), height, color=colour)
    axis.bar_label(bars, fmt='{:.3g}', padding=2, size=8)
