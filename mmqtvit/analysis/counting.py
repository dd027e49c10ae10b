"""Multiply-adds and parameters of a model, part by part, matrix products included."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple
from unittest import mock

import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from tqdm import tqdm

from ..errors import UserError
from ..layers import MultiScaleAttention
from .cost import Cost, cost
from .tables import table

aten = torch.ops.aten

#: Batched products, which as a rule are of two activations; a layer's are mm, addmm, convolution.
BATCHED_PRODUCTS = {
    aten.bmm, aten.baddbmm, aten._scaled_dot_product_flash_attention_for_cpu,
    aten._scaled_dot_product_flash_attention, aten._scaled_dot_product_efficient_attention,
    aten._scaled_dot_product_cudnn_attention
}

#: Modules that are shown by their children.
EXPANDED = {'', 'model', 'model.backbone', 'model.backbone.stages', 'model.roi_head', 'stages'}


class Part(NamedTuple):
    """What a part of a model costs.

    Args:
        name (str): Name of the module.
        params (int): Number of parameters.
        macs (int): Multiply-adds.
        attention_macs (int): Of these, the ones inside this package's kernels and their local
            residuals and, outside of its attention layers, those of batched matrix products.
    """
    name: str
    params: int
    macs: int
    attention_macs: int


class Count(NamedTuple):
    """What a model costs.

    Args:
        total (Part): The whole.
        parts (list[Part]): Its parts, without those that have neither parameters nor multiply-adds.
        uncounted (Counter): Number of calls by name of operators whose arithmetic is not known.
        regions (list[int]): Number of regions that each reading of a detector's RoI heads took.
    """
    total: Part
    parts: list
    uncounted: Counter
    regions: list


class _ForeignOperators(TorchDispatchMode):
    """Notes the calls of operators that are not PyTorch's own."""

    def __init__(self, calls: Counter) -> None:
        super().__init__()
        self.calls = calls

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace not in ('aten', 'prim', 'prims', 'profiler'):
            self.calls[str(func).rpartition('.')[0]] += 1
        return func(*args, **(kwargs or {}))


@contextmanager
def _watched_mmcv(calls: Counter) -> Iterator[None]:
    """Note the calls of mmcv's compiled operators, which PyTorch does not see."""
    operators = sys.modules.get('mmcv._ext')  # a model that uses them has loaded them
    if operators is None:
        yield
        return

    def noted(name: str, operator: Callable) -> Callable:
        def call(*args, **kwargs):
            calls[f'mmcv::{name}'] += 1
            return operator(*args, **kwargs)
        return call

    names = [name for name in dir(operators) if not name.startswith('_')]
    with mock.patch.multiple(
            operators, **{name: noted(name, getattr(operators, name)) for name in names}):
        yield


class _Tally:
    """Multiply-adds by module, out of PyTorch's counts by qualified name and operator."""

    def __init__(self, model: nn.Module, whole: Cost) -> None:
        self.model = model
        self.root = type(model).__name__
        self.counts = whole.flops

    def macs(self, name: str, operators: Callable = lambda operator: True) -> int:
        """Of one module; one that is never called itself has what its children have."""
        key = f'{self.root}.{name}'.rstrip('.')
        if key in self.counts:
            return sum(flops for operator, flops in self.counts[key].items()
                       if operators(operator)) // 2
        children = self.model.get_submodule(name).named_children()
        return sum(self.macs(f'{name}.{child}'.lstrip('.'), operators) for child, _ in children)

    def attention_macs(self, name: str) -> int:
        macs = self.macs(name, BATCHED_PRODUCTS.__contains__)
        for inner, module in self.model.get_submodule(name).named_modules():
            if isinstance(module, MultiScaleAttention):
                layer = f'{name}.{inner}'.strip('.')
                # Its convolutions may be written as batched products too.
                macs -= self.macs(layer, BATCHED_PRODUCTS.__contains__)
                macs += self.macs(f'{layer}.kernel')
                if module.local_residual is not None:
                    macs += self.macs(f'{layer}.local_residual')
        return macs

    def part(self, name: str) -> Part:
        module = self.model.get_submodule(name)
        params = sum(parameter.numel() for parameter in module.parameters())
        return Part(name, params, self.macs(name), self.attention_macs(name))

    def parts(self, name: str = '') -> Iterator[Part]:
        for child, module in self.model.get_submodule(name).named_children():
            full = f'{name}.{child}'.lstrip('.')
            if full in EXPANDED and next(module.children(), None) is not None:
                yield from self.parts(full)
            else:
                yield self.part(full)


def count(build: Callable[[], nn.Module], size: tuple, progress: bool = False) -> Count:
    """Count the multiply-adds of one image.

    Convolutions, linear layers and matrix products count; norms, activations, sums, resizing and
    pooling do not, as usual. The model follows shapes only, without arithmetic, unless it asks for
    values, as proposals do: then a second one is built and runs on random numbers.

    Args:
        build (Callable): Returns the model, which is called with images (1, C, H, W), where C
            is its ``in_channels``, else 3.
        size (tuple[int, int]): (H, W) in pixels.
        progress (bool): Whether to show the layers go by. Defaults to False.

    Raises:
        UserError: If the model does not run.
    """
    model = build()
    try:
        return _count(model, size, FakeTensorMode(allow_non_fake_inputs=True), progress)
    except Exception:  # it needs values or a compiled operator; other errors occur again below
        model = build()
    try:
        return _count(model, size, nullcontext(), progress)
    except Exception as error:
        raise UserError(f'the model does not run on one image of {size[0]}×{size[1]}: '
                        f'{type(error).__name__}: {error}') from error


def _count(model: nn.Module, size: tuple, mode: AbstractContextManager, progress: bool) -> Count:
    uncounted, regions = Counter(), []
    with tqdm(desc='counting', unit=' layers', disable=not progress) as bar:
        for module in model.modules():
            if next(module.children(), None) is None:
                module.register_forward_hook(lambda *_: bar.update() and None)
            if type(module).__name__.endswith('RoIExtractor'):
                module.register_forward_pre_hook(lambda _, args: regions.append(len(args[1])))
        images = torch.rand(1, getattr(model, 'in_channels', 3), *size)
        with mode, _watched_mmcv(uncounted), _ForeignOperators(uncounted):
            tally = _Tally(model, cost(model, images))
    parts = [part for part in tally.parts() if part.params or part.macs]
    return Count(tally.part(''), parts, uncounted, regions)


def describe(counted: Count) -> str:
    """Write a count as a table, with what was counted and what was not."""
    rows = [(part.name.removeprefix('model.'), part.params / 1e6, part.macs / 1e9,
             _percent(part.macs, counted.total.macs), part.attention_macs / 1e9,
             _percent(part.attention_macs, part.macs))
            for part in [*counted.parts, counted.total._replace(name='all')]]
    lines = [
        table(('part', 'parameters, M', 'MACs, G', 'of the whole', 'attention, G', 'of the part'),
              rows), '',
        'A MAC is one multiplication with its addition, two FLOPs. Counted: convolutions, linear '
        'layers, matrix products. Attention: the kernel, with its local residual, where the '
        'layer is of this package, batched matrix products elsewhere.']
    if any(part.name.startswith('model.') for part in counted.parts):
        lines.append("Run: backbone, neck and heads as in the toolbox's mode='tensor', without "
                     'post-processing. An auxiliary head takes part in training alone.')
    if counted.regions:
        lines.append(f'RoI heads read {", ".join(map(str, counted.regions))} regions, as the RPN '
                     'with random weights proposes; their MACs grow in proportion.')
    if counted.uncounted:
        calls = ', '.join(f'{name} ({calls} calls)' for name, calls in counted.uncounted.items())
        lines.append(f'Not counted beyond the PyTorch products inside: {calls}.')
    return '\n'.join(lines)


def _percent(part: int, whole: int) -> str:
    return f'{100 * part / whole:.2f} %' if whole else ''
