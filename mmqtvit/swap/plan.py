"""Plans the exchange of a backbone, and applies the plan to a config."""

from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

from mmengine import Config

from ..backbones.arch import NUM_STAGES
from ..backbones.zoo import family_of
from ..cfg.tree import at
from ..errors import UserError
from ..toolboxes import Toolbox, find_toolbox
from .changes import Changes
from .normalise import set_normalisation
from .probe import BackboneProfile, build_without_weights, probe
from .readers import adapt_readers
from .recipe import adapt_optimizer, forget_weights, new_backbone
from .refuse import locate_backbone
from .stages import choose_stages

DILATION_KEYS = ('strides', 'dilations', 'contract_dilation', 'output_stride')


@dataclass(frozen=True)
class Plan:
    """What a swap will change in a config.

    Args:
        old (BackboneProfile): The old backbone.
        new (BackboneProfile): The new one.
        changes (Changes): New values, and what the user is told of them.
    """
    old: BackboneProfile
    new: BackboneProfile
    changes: Changes

    def apply(self, cfg: Config) -> Config:
        """The swapped config; ``cfg``, for which the plan was made, stays as it is."""
        return Config(
            self.changes.apply(cfg.to_dict()), cfg_text=cfg.text, filename=cfg.filename)


def swap_backbone(cfg: Config,
                  arch: Union[str, dict] = 'qtvit1',
                  checkpoint: Optional[str] = None,
                  scope: Optional[str] = None) -> Config:
    """Put a QT-ViT or EfficientViT into a config of MMDetection, MMSegmentation or MMPretrain.

    Necks' and heads' input channels, the input normalisation, the optimiser's keys and the old
    backbone's weights are changed with it. Swapping twice equals swapping once.

    Args:
        cfg (Config): Left as it is.
        arch (str | dict): 'qtvit1' to 'qtvit6', 'b0' to 'b3', 'l0' to 'l3', or a dict as
            :class:`mmqtvit.QTViT` takes it. Defaults to 'qtvit1'.
        checkpoint (str, optional): Pretrained weights in any layout that the backbones load.
            Without them no stage is frozen. Defaults to None.
        scope (str, optional): Name of the toolbox, such as 'mmdet'. Defaults to None, as the
            config's ``default_scope`` or else its classes say.

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
    return plan_swap(cfg, arch, checkpoint, scope).apply(cfg)


def plan_swap(cfg: Config,
              arch: Union[str, dict] = 'qtvit1',
              checkpoint: Optional[str] = None,
              scope: Optional[str] = None) -> Plan:
    """Find out what :func:`swap_backbone` has to change; arguments and errors are the same."""
    cls = family_of(arch).cls
    if checkpoint and '://' not in str(checkpoint) and not Path(checkpoint).is_file():
        raise UserError(f'there is no checkpoint {checkpoint}')
    toolbox, scope = find_toolbox(cfg, scope)
    data = cfg.to_dict()
    path = locate_backbone(data)
    part = at(data, path)
    size = toolbox.image_size(cfg)
    old = probe(part['backbone'], scope, size)
    strides = probe_strides(cls, arch)
    natural = _undilated(part['backbone'], old, toolbox, scope, size)
    stages, warnings = choose_stages(old.levels, natural, strides, toolbox, part)
    backbone, more = new_backbone(part['backbone'], arch, stages, checkpoint)
    new = probe(backbone, scope, size)
    deepest = max(level.stride or 0 for level in old.levels), max(strides[i] for i in stages)
    changes = (Changes((((*path, 'backbone'), backbone), ), warnings=(*warnings, *more))
               + adapt_readers(part, old.levels, new.levels, toolbox).below(path)
               + forget_weights(data, path)
               + set_normalisation(data, path, toolbox, deepest)
               + _name_scope(cfg, scope))
    others = _other_parameters(changes.apply(data), path, scope)
    changes += adapt_optimizer(data, old, new, others, checkpoint)
    return Plan(old, new, changes)


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


def _name_scope(cfg: Config, scope: str) -> Changes:
    """Without a default_scope, mmengine does not find the classes by their bare names."""
    if cfg.get('default_scope'):
        return Changes()
    return Changes(((('default_scope', ), scope), ), notes=(
        f'default_scope = {scope!r} is added: the config names none, and its model is of {scope}',))


def _undilated(backbone: dict, old: BackboneProfile, toolbox: Toolbox, scope: str,
               size: tuple) -> tuple:
    """The levels that the backbone would have without dilation."""
    plain = {key: value for key, value in backbone.items() if key not in DILATION_KEYS}
    if toolbox.exact_strides or toolbox.reads_last or plain == backbone:
        return old.levels
    try:
        levels = probe(plain, scope, size).levels
    except UserError:  # its other arguments may require the strides that were left out
        return old.levels
    return levels if len(levels) == len(old.levels) else old.levels


def _other_parameters(data: dict, path: tuple, scope: str) -> tuple:
    """Names of the new model's parameters outside the backbone; none where it does not build."""
    wrapper = data.get('optim_wrapper') or {}
    if not (wrapper.get('paramwise_cfg') or {}).get('custom_keys'):
        return ()
    try:
        model = build_without_weights(at(data, path), scope, 'meta')
    except Exception:  # then keys that only the heads could use are dropped with the others
        return ()
    return tuple(name for name, _ in model.named_parameters() if not name.startswith('backbone.'))
