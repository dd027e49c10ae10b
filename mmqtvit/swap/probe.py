"""What a backbone gives: builds it and sends one image through."""

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Optional

import torch
from mmengine.registry import MODELS, DefaultScope
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from .refuse import SwapRefused

WEIGHT_KEYS = ('init_cfg', 'pretrained', 'checkpoint_path')


@dataclass(frozen=True)
class Level:
    """One of a backbone's outputs.

    Args:
        channels (int): Channels of the map, or features of each token.
        stride (int, optional): Pixels of the image per position of the map; None where the output
            is no map.
        dims (int): Dimensions of the tensor: 4 a map, 3 tokens, 2 a vector for each image.
    """
    channels: int
    stride: Optional[int]
    dims: int = 4


@dataclass(frozen=True)
class Probe:
    """What was seen of a backbone.

    Args:
        levels (tuple[Level]): The outputs, in order.
        parameters (int): Number of parameters.
        macs (int, optional): Multiply–adds for one image of ``size``; None where the operators
            cannot be counted without computing.
        size (tuple[int, int]): (height, width) in pixels.
        names (tuple[str]): Names of the parameters.
    """
    levels: tuple
    parameters: int
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
    cfg = without_weights(cfg)
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


def probe(cfg: dict, scope: str, size: tuple) -> Probe:
    """Build a backbone and send one image through.

    On the meta device, where nothing is computed; with a small real image where operators of the
    backbone refuse that.

    Args:
        cfg (dict): The backbone's config.
        scope (str): The toolbox, such as 'mmdet'.
        size (tuple[int, int]): (height, width) of the image, in pixels.

    Raises:
        SwapRefused: If it does not build, takes no image, or returns no maps.
    """
    name = getattr(cfg['type'], '__name__', cfg['type'])
    attempts = [('meta', size), ('cpu', tuple(min(side, 256) for side in size)), ('cpu', size)]
    for device, tried_size in dict.fromkeys(attempts):
        try:
            backbone = build_without_weights(cfg, scope, device)
            backbone.eval()  # not chained: train() of many backbones returns nothing
            needed = _extra_inputs(backbone)
            if needed:
                raise SwapRefused(f'its backbone {name} reads more than images: {needed}')
            image = torch.zeros(1, cfg.get('in_channels', 3), *tried_size, device=device)
            with quiet(), torch.no_grad(), FlopCounterMode(display=False) as counter:
                outputs = backbone(image)
        except SwapRefused:
            raise
        except Exception as error:  # whatever constructors and operators raise
            reason = error
            continue
        macs = counter.get_total_flops() // 2 if tried_size == tuple(size) else None
        parameters = dict(backbone.named_parameters())
        return Probe(
            _levels(outputs, tried_size, name), sum(p.numel() for p in parameters.values()), macs,
            tuple(size), tuple(parameters))
    words = (str(reason) or type(reason).__name__).strip().splitlines()[0][:200]
    raise SwapRefused(f'its backbone {name} cannot be built and run on an image of '
                      f'{size[0]}×{size[1]}: {words}')


def _levels(outputs: Any, size: tuple, name: str) -> tuple:
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    levels = []
    for output in outputs:
        if not isinstance(output, Tensor) or output.dim() not in (2, 3, 4):
            raise SwapRefused(f'its backbone {name} returns more than maps (tokens, masks or parts '
                              'that only its own head understands)')
        if output.dim() == 4:
            levels.append(Level(output.shape[1], round(size[0] / output.shape[2])))
        else:
            levels.append(Level(output.shape[1 if output.dim() == 2 else -1], None, output.dim()))
    return tuple(levels)


def _extra_inputs(backbone: nn.Module) -> str:
    parameters = list(inspect.signature(backbone.forward).parameters.values())[1:]
    return ', '.join(
        parameter.name for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD))


@contextmanager
def quiet() -> Iterator[None]:
    """Without the toolboxes' warnings about arguments that the user did not choose."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        yield
