"""Times and memory of models, in the forms in which they can run."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor, nn
from tqdm import tqdm

from ..backbones import EfficientViT
from ..deployment import deploy
from ..errors import UserError
from .models import WholeModel, build_model
from .timing import Case, Schedule, measure

EAGER = 'eager'
AUTOCAST = 'autocast:'
DTYPES = ('float32', 'bfloat16', 'float16', f'{AUTOCAST}bfloat16', f'{AUTOCAST}float16')
PASSES = ('forward', 'train')


def _channels_last(model: nn.Module) -> nn.Module:
    return model.to(memory_format=torch.channels_last)


def _fused(model: nn.Module) -> nn.Module:
    try:
        from mmcv.cnn import fuse_conv_bn
    except ImportError as error:
        raise UserError(f'mode fused needs mmcv: {error}') from error
    return fuse_conv_bn(model)


def _deployed(model: nn.Module) -> nn.Module:
    own = any(isinstance(part, EfficientViT) for part in model.modules())
    return deploy(model) if own else model  # timm's has no such form


def _compiled(model: nn.Module) -> nn.Module:
    return torch.compile(model, dynamic=False)


#: In the order in which they are applied; names are joined by '+'.
MODES = {'channels_last': _channels_last, 'fused': _fused, 'deployed': _deployed,
         'compiled': _compiled}


class Plan(NamedTuple):
    """What to measure: all combinations.

    Args:
        models (Sequence[str]): See :func:`mmqtvit.analysis.models.build_model`.
        sizes (Sequence[tuple[int, int]]): (H, W) of the images in pixels.
        modes (Sequence[str]): 'eager', or some of ``MODES`` joined by '+'.
        dtypes (Sequence[str]): Some of ``DTYPES``: weights and images cast, or autocast.
        passes (Sequence[str]): Some of ``PASSES``. A training step is a forward pass, a backward
            pass, and an update by SGD without momentum.
        batch (int): Images at once.
    """
    models: Sequence
    sizes: Sequence
    modes: Sequence = (EAGER, )
    dtypes: Sequence = ('float32', )
    passes: Sequence = ('forward', )
    batch: int = 1

    def check(self) -> None:
        """Raise :class:`UserError` if a name is unknown or a combination senseless."""
        for mode in self.modes:
            if mode != EAGER and not set(mode.split('+')) <= set(MODES):
                raise UserError(f'a mode is {EAGER} or some of {", ".join(MODES)} joined by +, '
                                f'got {mode!r}')
            if {'fused', 'deployed'} & set(mode.split('+')) and 'train' in self.passes:
                raise UserError(f'mode {mode} is for evaluation: norms are folded into the '
                                'convolutions; leave out --passes train')
        for name, values, known in (('dtype', self.dtypes, DTYPES), ('pass', self.passes, PASSES)):
            for value in values:
                if value not in known:
                    raise UserError(f'a {name} is one of {", ".join(known)}, got {value!r}')


def prepare(model: nn.Module, mode: str) -> nn.Module:
    """Bring a model into the form that a mode names; it may be changed in place."""
    for name, change in MODES.items():
        if name in mode.split('+'):
            model = change(model)
    return model


def make_case(spec: str, size: tuple, mode: str, dtype: str, pass_: str, batch: int,
              device: torch.device) -> Case:
    """Build one model and what is to be timed of it; arguments as in :class:`Plan`."""
    labels = {'model': spec, 'size': f'{size[0]}x{size[1]}', 'mode': mode, 'dtype': dtype,
              'pass': pass_}
    model = build_model(spec).to(device)
    return case_of(model, torch.rand(batch, model.in_channels, *size, device=device), labels)


def case_of(model: nn.Module, images: Tensor, labels: dict) -> Case:
    """Make ready what is to be timed of a model.

    Args:
        model (nn.Module): In evaluation mode; it may be changed.
        images (Tensor): (B, C, H, W), on the model's device.
        labels (dict[str, str]): With 'mode', 'dtype' and 'pass', as in :class:`Plan`.
    """
    precision, dtype = nullcontext, labels['dtype']
    if dtype.startswith(AUTOCAST):
        dtype = dtype[len(AUTOCAST):]
        precision = partial(torch.autocast, images.device.type, getattr(torch, dtype))
    else:
        model, images = (x.to(getattr(torch, dtype)) for x in (model, images))
    if 'channels_last' in labels['mode']:
        images = images.contiguous(memory_format=torch.channels_last)
    if labels['pass'] == 'forward':
        model = prepare(model, labels['mode'])
        return Case(labels, partial(_forward, model, images, precision))
    model.train()
    existing = [images, *model.parameters(), *model.buffers()]
    forward = partial(_loss, prepare(_Loss(model), labels['mode']), images, precision)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    return Case(labels, partial(_step, forward, optimizer), forward, existing)


class _Loss(nn.Module):
    """A whole model's own loss, or the mean of all values of a backbone's maps."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> Tensor:
        if isinstance(self.model, WholeModel):
            return self.model.loss(images)
        return sum(level.float().mean() for level in self.model(images))


def _forward(model: nn.Module, images: Tensor, precision: Callable) -> object:
    with torch.no_grad(), precision():
        return model(images)


def _loss(model: nn.Module, images: Tensor, precision: Callable) -> Tensor:
    try:
        with precision():
            return model(images)
    except ValueError as error:
        if 'more than 1 value per channel' not in str(error):
            raise
        raise UserError('a batch norm cannot train on one position of one image: take larger '
                        'images, or --batch 2') from error


def _step(forward: Callable, optimizer: torch.optim.Optimizer) -> None:
    forward().backward()
    optimizer.step()
    optimizer.zero_grad()  # here, so that each step starts without gradients, for the memory's sake


def run(plan: Plan, device: torch.device, schedule: Schedule) -> list:
    """Measure all of a plan in this process, with a progress bar.

    The models and modes of one dtype, pass and size are timed in turns.

    Raises:
        UserError: If the plan is wrong, or a model cannot run so.
    """
    plan.check()
    measurements = []
    groups = list(product(plan.dtypes, plan.passes, plan.sizes))
    variants = list(product(plan.models, plan.modes))
    with tqdm(total=len(groups) * len(variants), desc='measuring', unit='case') as bar:
        for dtype, pass_, size in groups:
            torch.compiler.reset()  # it gives up after a few models of one class
            cases = [make_case(spec, size, mode, dtype, pass_, plan.batch, device)
                     for spec, mode in variants]
            measurements += measure(cases, device, schedule, bar)
    return measurements
