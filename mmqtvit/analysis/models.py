"""Models to measure, by a name that a command line can take."""

from ast import literal_eval
from collections.abc import Sequence
from typing import Optional

import torch
from mmengine import Config
from mmengine.registry import MODELS, DefaultScope
from torch import Tensor, nn

from ..backbones.zoo import arch_names, build_backbone
from ..cfg.build import explained
from ..cfg.device import replace_sync_bn
from ..cfg.read import load_config
from ..errors import UserError
from ..toolboxes import Toolbox, get_toolbox, require_toolbox
from ..toolboxes.base import own_configs
from ..toolboxes.parts import image_channels

TIMM = 'timm:'
BACKBONE = '@backbone'
SPEC_HELP = (f'a config (file, or {own_configs()}) for the whole model; a config with '
             f'{BACKBONE} at its end for its backbone; {TIMM}NAME; or a backbone of this '
             f'package: {", ".join(arch_names())}')


class WholeModel(nn.Module):
    """A detector, segmentor or classifier of a toolbox, called with images alone.

    Args:
        model (nn.Module): The toolbox's model.
        toolbox (Toolbox): Its adapter.
        cfg (dict): The model's config.
    """

    def __init__(self, model: nn.Module, toolbox: Toolbox, cfg: dict) -> None:
        super().__init__()
        self.model = model
        self.toolbox, self.cfg = toolbox, cfg
        self.in_channels = image_channels(cfg)

    def forward(self, images: Tensor) -> object:
        """Run backbone, neck and heads, the toolboxes' ``mode='tensor'``, on (B, C, H, W)."""
        return self.model(images, self._samples(images), mode='tensor')

    def loss(self, images: Tensor) -> Tensor:
        """Compute the loss of (B, C, H, W) against made-up truth."""
        losses = self.model(images, self._samples(images), mode='loss')
        return self.model.parse_losses(losses)[0]

    def _samples(self, images: Tensor) -> list:
        return self.toolbox.make_samples(
            self.cfg, tuple(images.shape[-2:]), len(images), images.device)


def build_model(spec: str, cfg_options: Optional[dict] = None) -> nn.Module:
    """Build a model with random weights, the same each time.

    Under ``torch.device('meta')`` it has shapes alone.

    Args:
        spec (str): One of ``arch_names()``, ``timm:NAME`` (its feature maps), a config, or a config
            followed by ``@backbone``.
        cfg_options (dict, optional): Changes to a config. Defaults to None.

    Returns:
        nn.Module: In evaluation mode, called with images (B, ``in_channels``, H, W).

    Raises:
        UserError: If there is no such model.
    """
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if spec in arch_names():
            model = build_backbone(spec)
        elif spec.startswith(TIMM):
            model = _build_timm(spec[len(TIMM):])
        elif '::' in spec or '/' in spec or '.py' in spec:
            model = _build_config(spec, cfg_options)
        else:
            raise UserError(f'there is no model {spec!r}; name {SPEC_HELP}')
    model.eval()  # returns nothing in some of mmdet's backbones
    return model


def _build_timm(name: str) -> nn.Module:
    try:
        import timm
    except ImportError as error:
        raise UserError(f'{TIMM}{name} needs timm, which is not installed: pip install timm'
                        ) from error
    try:
        model = timm.create_model(name, features_only=True)
    except Exception as error:  # of each architecture its own
        raise UserError(f'timm has no feature maps of {name!r}: {error}') from error
    model.in_channels = 3
    return model


def _build_config(spec: str, cfg_options: Optional[dict]) -> nn.Module:
    path = spec[:-len(BACKBONE)] if spec.endswith(BACKBONE) else spec
    cfg = read_model_config(path, cfg_options)
    backbone_only = path != spec
    with DefaultScope.overwrite_default_scope(cfg.default_scope), explained(cfg):
        if backbone_only:
            backbone = MODELS.build(cfg.model.backbone)
            backbone.in_channels = image_channels(cfg.model)
            return backbone
        return WholeModel(MODELS.build(cfg.model), get_toolbox(cfg.default_scope), cfg.model)


def read_model_config(path: str, cfg_options: Optional[dict] = None) -> Config:
    """Read a config whose model can be built on any one device.

    Raises:
        UserError: If the config, its model or its toolbox is missing.
    """
    cfg = load_config(path, cfg_options)
    if not isinstance(cfg.get('model'), dict):
        raise UserError(f'{path} describes no model')
    require_toolbox(cfg)
    replace_sync_bn(cfg.model)  # which needs a process group
    return cfg


def parse_size(text: str) -> tuple[int, int]:
    """Read a size such as '512x1024', height first.

    Raises:
        UserError: If it is none.
    """
    sides = text.lower().split('x')
    if len(sides) != 2 or not all(side.isdecimal() and int(side) > 0 for side in sides):
        raise UserError(f'a size is HEIGHTxWIDTH, such as 512x1024, got {text!r}')
    return int(sides[0]), int(sides[1])


def parse_kernel(text: str, known: Sequence) -> dict:
    """Read a kernel such as 'ReLULinear' or 'ReLULinear:eps=1e-5', options separated by commas.

    Args:
        text (str): What to read.
        known (Sequence[str]): Names that there are.

    Returns:
        dict: ``type`` and the options, as the backbones' ``attention`` takes it.

    Raises:
        UserError: If the name is none of ``known`` or an option is malformed.
    """
    name, _, options = text.partition(':')
    if name not in known:
        raise UserError(f'there is no kernel {name!r}; there are {", ".join(known)}')
    kernel = dict(type=name)
    for pair in filter(None, options.split(',')):
        key, equals, value = pair.partition('=')
        if not equals or not key.isidentifier():
            raise UserError(f'options of a kernel are key=value, such as {name}:eps=1e-5, '
                            f'got {pair!r} in {text!r}')
        try:
            kernel[key] = literal_eval(value)
        except (SyntaxError, ValueError):  # a word
            kernel[key] = value
    return kernel
