"""Config in, config out: the backbone exchanged, and all that depends on it."""

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional, Union

from mmengine import Config

from ..backbones.arch import NUM_STAGES
from ..backbones.zoo import family_of
from ..errors import UserError
from ..toolboxes import get_toolbox, require_toolbox
from .normalise import set_normalisation
from .probe import Probe, build_without_weights, probe
from .readers import adapt_readers
from .recipe import adapt_optimizer, forget_weights, new_backbone
from .refuse import find_backbone
from .stages import choose_stages

DILATION_KEYS = ('strides', 'dilations', 'contract_dilation', 'output_stride')


@dataclass(frozen=True)
class Swap:
    """A swapped config and what is to be told of it.

    Args:
        cfg (Config): The new config.
        old (Probe): The old backbone.
        new (Probe): The new one.
        notes (list[str]): What is gone and why.
        warnings (list[str]): Where the meaning of the config changes.
    """
    cfg: Config
    old: Probe
    new: Probe
    notes: list = field(default_factory=list)
    warnings: list = field(default_factory=list)


def swap_backbone(cfg: Config,
                  arch: Union[str, dict] = 'qtvit1',
                  checkpoint: Optional[str] = None) -> Config:
    """Put a QT-ViT or EfficientViT into a config of MMDetection, MMSegmentation or MMPretrain.

    Necks' and heads' input channels, the input normalisation, the optimiser's keys and the old
    backbone's weights are changed with it. Swapping twice equals swapping once.

    Args:
        cfg (Config): Left as it is.
        arch (str | dict): 'qtvit1' to 'qtvit6', 'b0' to 'b3', 'l0' to 'l3', or a dict as
            :class:`mmqtvit.QTViT` takes it. Defaults to 'qtvit1'.
        checkpoint (str, optional): Pretrained weights in any layout that the backbones load.
            Without them no stage is frozen. Defaults to None.

    Returns:
        Config: A new one.

    Raises:
        UserError: If the arch is unknown, or the checkpoint or the config's toolbox is missing.
        SwapRefused: If the backbone of this config cannot be exchanged; the message says why.

    Example:
        >>> from mmengine.hub import get_config
        >>> from mmqtvit import swap_backbone
        >>> cfg = swap_backbone(get_config('mmdet::retinanet/retinanet_r50_fpn_1x_coco.py'))
        >>> cfg.model.neck.in_channels
        [32, 64, 128, 256]
    """
    return plan_swap(cfg, arch, checkpoint).cfg


def plan_swap(cfg: Config,
              arch: Union[str, dict] = 'qtvit1',
              checkpoint: Optional[str] = None) -> Swap:
    """Like :func:`swap_backbone`, but returns what is to be told as well."""
    cls = family_of(arch).cls
    if checkpoint and '://' not in str(checkpoint) and not Path(checkpoint).is_file():
        raise UserError(f'there is no checkpoint {checkpoint}')
    toolbox = require_toolbox(cfg)
    scope = toolbox.name
    data = copy.deepcopy(cfg.to_dict())
    model = data.get('model')
    part = find_backbone(model)
    size = toolbox.image_size(cfg)
    old = probe(part['backbone'], scope, size)
    strides = probe_strides(cls, arch)
    stages, warnings = choose_stages(old.levels, _undilated(part['backbone'], old, scope, size),
                                     strides, scope, part)
    backbone, said = new_backbone(part['backbone'], arch, stages, checkpoint)
    new = probe(backbone, scope, size)
    warnings += said + adapt_readers(part, old.levels, new.levels, scope)
    part['backbone'] = backbone
    notes = forget_weights(data, model, part)
    deepest = max(level.stride or 0 for level in old.levels), max(strides[i] for i in stages)
    warnings += set_normalisation(data, model, part, scope, deepest)
    notes += adapt_optimizer(
        data, old, new, _other_parameters(data, part, scope), checkpoint)
    return Swap(Config(data, cfg_text=cfg.text, filename=cfg.filename), old, new, notes, warnings)


def probe_strides(cls: type, arch: Union[str, dict]) -> tuple:
    """Strides of all stages of an architecture.

    Raises:
        UserError: If the arch is a dict that the class does not take.
    """
    try:
        cfg = dict(type=f'mmqtvit.{cls.__name__}', arch=arch, out_indices=tuple(range(NUM_STAGES)))
        return build_without_weights(cfg, 'mmqtvit', 'meta').out_strides
    except ValueError as error:
        raise UserError(str(error)) from error


def _undilated(backbone: dict, old: Probe, scope: str, size: tuple) -> tuple:
    """The levels that the backbone would have without dilation."""
    plain = {key: value for key, value in backbone.items() if key not in DILATION_KEYS}
    if get_toolbox(scope).exact_strides or get_toolbox(scope).reads_last or plain == backbone:
        return old.levels
    try:
        levels = probe(plain, scope, size).levels
    except UserError:  # other arguments fit its strides only
        return old.levels
    return levels if len(levels) == len(old.levels) else old.levels


def _other_parameters(data: dict, part: dict, scope: str) -> tuple:
    """Names of the new model's parameters outside the backbone; none where it does not build."""
    wrapper = data.get('optim_wrapper') or {}
    if not (wrapper.get('paramwise_cfg') or {}).get('custom_keys'):
        return ()
    try:
        built = build_without_weights(part, scope, 'meta')
    except Exception:  # then keys that only the heads could use are dropped with the others
        return ()
    return tuple(name for name, _ in built.named_parameters() if not name.startswith('backbone.'))
