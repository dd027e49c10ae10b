"""What a backbone gives: builds it and sends one image through."""

import inspect
import math
import pickle
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Optional

import torch
from mmengine import ConfigDict
from mmengine.registry import MODELS, DefaultScope
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode
from torch.overrides import TorchFunctionMode

from ..analysis.cost import cost
from ..cfg.tree import type_name
from ..terminal import quiet
from .missing import missing_class
from .refuse import BackboneMissing, SwapRefused

WEIGHT_KEYS = ('init_cfg', 'pretrained', 'checkpoint_path', 'teacher_ckpt')
REDUCED = 256  # pixels a side, where a backbone has to compute


@dataclass(frozen=True)
class Level:
    """One of a backbone's outputs.

    Args:
        channels (int, optional): Channels of the map, or features of each token; None where they
            are not known.
        stride (int, optional): Pixels of the image per position of the map; None where the output
            is no map.
        dims (int): Dimensions of the tensor: 4 a map, 3 tokens, 2 a vector for each image.
    """
    channels: Optional[int]
    stride: Optional[int]
    dims: int = 4


@dataclass(frozen=True)
class BackboneProfile:
    """What is known of a backbone.

    Args:
        levels (tuple[Level]): The outputs, in order.
        parameters (int, optional): Number of parameters; None where it was not built.
        macs (int, optional): Multiply–adds for one image of ``size``; None where the operators
            cannot be counted without computing.
        size (tuple[int, int]): (height, width) in pixels.
        names (tuple[str]): Names of the parameters, none where it was not built.
    """
    levels: tuple
    parameters: Optional[int]
    macs: Optional[int]
    size: tuple
    names: tuple


class _RatesOnCPU(TorchFunctionMode):
    """Keeps ``torch.linspace`` real: constructors read rates of stochastic depth from it."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.linspace:
            kwargs.setdefault('device', 'cpu')
        return func(*args, **kwargs)


def build_without_weights(cfg: dict, scope: str, device: str = 'cpu') -> nn.Module:
    """Build a module of a config; nothing is downloaded and, on 'meta', nothing computed."""
    cfg = ConfigDict(without_weights(cfg))  # the toolboxes read train_cfg.rpn
    with quiet(), torch.device(device), _RatesOnCPU(), \
            DefaultScope.overwrite_default_scope(scope):
        return MODELS.build(cfg)


def without_weights(node: Any) -> Any:
    """A deep copy of a part of a config in which nothing names pretrained weights."""
    if isinstance(node, dict):
        return {
            key: False if key == 'pretrained' and value is True else without_weights(value)
            for key, value in node.items() if not (key in WEIGHT_KEYS and names_weights(value))
        }
    if isinstance(node, (list, tuple)):
        return type(node)(without_weights(child) for child in node)
    return node


def names_weights(value: Any) -> bool:
    """Whether the value of an ``init_cfg`` or of a key like it names a file of weights."""
    if isinstance(value, (list, tuple)):
        return any(names_weights(child) for child in value)
    if isinstance(value, dict):
        return value.get('type') == 'Pretrained'
    return isinstance(value, str) and bool(value)


def probe(cfg: dict, scope: str, size: tuple) -> BackboneProfile:
    """Build a backbone and send one image through.

    With shapes alone, without computing; with a real image, a small one first, where operators of
    the backbone refuse that.

    Args:
        cfg (dict): The backbone's config.
        scope (str): Name of the toolbox.
        size (tuple[int, int]): (height, width) of the image, in pixels.

    Raises:
        BackboneMissing: If a class or a package of it is not here.
        SwapRefused: If it does not build, takes no image, or returns no maps.
    """
    return _probe(pickle.dumps(cfg), scope, tuple(size))


@lru_cache(maxsize=64)  # swaps of one session share many; a dict cannot be a key, its bytes can
def _probe(pickled: bytes, scope: str, size: tuple) -> BackboneProfile:
    cfg = pickle.loads(pickled)
    name = type_name(cfg)
    reduced = tuple(min(side, REDUCED) for side in size)
    for mode, tried_size in ((FakeTensorMode(allow_non_fake_inputs=True), size),
                             (nullcontext(), reduced), (nullcontext(), size)):
        try:
            backbone, outputs, macs = _run(cfg, scope, tried_size, mode)
        except SwapRefused:
            raise
        except Exception as error:  # whatever constructors and operators raise
            reason = error
            continue
        parameters = dict(backbone.named_parameters())
        return BackboneProfile(
            _levels(outputs, tried_size, name), sum(p.numel() for p in parameters.values()),
            macs if tried_size == size else None, size, tuple(parameters))
    if missing_class(reason):
        raise BackboneMissing(f'{name} is not registered')
    if isinstance(reason, ImportError):
        raise BackboneMissing(f'{name} needs a package that is not here ({reason})')
    words = (str(reason) or type(reason).__name__).strip().splitlines()[0][:200]
    raise SwapRefused(f'its backbone {name} cannot be built and run on an image of '
                      f'{size[0]}×{size[1]}: {words}. If it runs elsewhere, name the strides of '
                      'its outputs, such as --old-strides 4,8,16,32')


def _run(cfg: dict, scope: str, size: tuple, mode: AbstractContextManager) -> tuple:
    fake = isinstance(mode, FakeTensorMode)
    backbone = build_without_weights(cfg, scope, 'meta' if fake else 'cpu')
    needed = _extra_inputs(backbone)
    if needed:
        raise SwapRefused(f'its backbone {type_name(cfg)} reads more than images: {needed}')
    backbone.eval()  # not chained: train() of many backbones returns nothing
    with quiet(), mode:
        if fake:
            backbone.to_empty(device='cpu')
        found = cost(backbone, torch.zeros(1, cfg.get('in_channels', 3), *size))
    return backbone, found.outputs, found.macs


def _levels(outputs: Any, size: tuple, name: str) -> tuple:
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    levels = []
    for output in outputs:
        if not isinstance(output, Tensor) or output.dim() not in (2, 3, 4):
            raise SwapRefused(f'its backbone {name} returns more than maps (tokens, masks or parts '
                              'that only its own head understands)')
        if output.dim() == 4:
            levels.append(Level(output.shape[1], stride_of(size, output.shape[2:])))
        else:
            levels.append(Level(output.shape[1 if output.dim() == 2 else -1], None, output.dim()))
    return tuple(levels)


def stride_of(size: Sequence, shape: Sequence) -> int:
    """Pixels per position: if possible a power of two that gives the shape, rounded up or down.

    Args:
        size (Sequence[int]): (height, width) of the image, in pixels.
        shape (Sequence[int]): (height, width) of the map.
    """
    for stride in (1, 2, 4, 8, 16, 32, 64, 128):
        if all(positions in (side // stride, math.ceil(side / stride))
               for side, positions in zip(size, shape)):
            return stride
    return round(size[0] / shape[0])


def _extra_inputs(backbone: nn.Module) -> str:
    parameters = list(inspect.signature(backbone.forward).parameters.values())[1:]
    return ', '.join(
        parameter.name for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD))
