"""Plans the exchange of a backbone, and applies the plan to a config."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

from mmengine import Config

from ..backbones.arch import NUM_STAGES
from ..backbones.zoo import family_of
from ..cfg.tree import at
from ..errors import UserError
from ..toolboxes import Toolbox, find_toolbox
from .assume import assume_profile
from .changes import Changes
from .missing import import_modules, missing_class, not_here, refusal
from .normalise import set_normalisation
from .probe import BackboneProfile, build_without_weights, probe
from .readers import adapt_readers
from .recipe import adapt_optimizer, forget_weights, new_backbone
from .refuse import BackboneMissing, locate_backbone
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
                  scope: Optional[str] = None,
                  old_strides: Optional[Sequence] = None) -> Config:
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
        old_strides (Sequence[int], optional): Strides of the old backbone's outputs, which is
            then not built. Defaults to None: it is built, and if it is not here, four outputs are
            taken to lie at strides 4, 8, 16 and 32.

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
    return plan_swap(cfg, arch, checkpoint, scope, old_strides).apply(cfg)


def plan_swap(cfg: Config,
              arch: Union[str, dict] = 'qtvit1',
              checkpoint: Optional[str] = None,
              scope: Optional[str] = None,
              old_strides: Optional[Sequence] = None) -> Plan:
    """Find out what :func:`swap_backbone` has to change; arguments and errors are the same."""
    cls = family_of(arch).cls
    if checkpoint and '://' not in str(checkpoint) and not Path(checkpoint).is_file():
        raise UserError(f'there is no checkpoint {checkpoint}')
    failed = import_modules(cfg)
    toolbox, scope = find_toolbox(cfg, scope)
    data = cfg.to_dict()
    path = locate_backbone(data)
    part = at(data, path)
    size = toolbox.image_size(cfg)
    old, assumed = _look_at_old(part, toolbox, scope, size, old_strides)
    strides = probe_strides(cls, arch)
    natural = _undilated(part['backbone'], old, toolbox, scope)
    stages, coarser = choose_stages(old.levels, natural, strides, toolbox, part)
    backbone, left_out = new_backbone(part['backbone'], arch, stages, checkpoint)
    new = probe(backbone, scope, size)
    others = _other_parameters({**part, 'backbone': backbone}, path, scope, failed)
    warnings = (*not_here(failed), *assumed, *coarser, *left_out)
    deepest = max(level.stride or 0 for level in old.levels), max(strides[i] for i in stages)
    changes = (Changes((((*path, 'backbone'), backbone), ), warnings=warnings)
               + adapt_readers(part, old.levels, new.levels, toolbox).below(path)
               + forget_weights(data, path)
               + set_normalisation(data, path, toolbox, deepest)
               + adapt_optimizer(data, old, new, others, checkpoint)
               + _name_scope(cfg, scope))
    return Plan(old, new, changes)


def _look_at_old(part: dict, toolbox: Toolbox, scope: str, size: tuple,
                 strides: Optional[Sequence]) -> tuple:
    """The old backbone, built or, as it is to be replaced, assumed from what its readers take.

    Returns:
        tuple[BackboneProfile, list[str]]: And warnings.
    """
    reason = 'the strides of its outputs are given'
    if strides is None:
        try:
            return probe(part['backbone'], scope, size), []
        except BackboneMissing as error:
            reason = error.reason
    old = assume_profile(part, toolbox, size, strides)
    maps = ', '.join(f'{level.channels or "unknown"}' + (
        f' at stride {level.stride}' if level.stride else '') for level in old.levels)
    return old, [f'the old backbone is not built, because {reason}; the channels of its outputs '
                 f'are assumed to be {maps}']


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


def _undilated(backbone: dict, old: BackboneProfile, toolbox: Toolbox,
               scope: str) -> tuple:
    """The levels that the backbone would have without dilation."""
    plain = {key: value for key, value in backbone.items() if key not in DILATION_KEYS}
    if (toolbox.exact_strides or toolbox.reads_last or plain == backbone
            or old.parameters is None):
        return old.levels
    try:
        levels = probe(plain, scope, old.size).levels
    except UserError:  # its other arguments may require the strides that were left out
        return old.levels
    return levels if len(levels) == len(old.levels) else old.levels


def _other_parameters(part: dict, path: tuple, scope: str, failed: dict) -> tuple:
    """Names of the swapped model's parameters outside the backbone; none where it does not build.

    Raises:
        SwapRefused: If a class of it is not registered.
    """
    try:
        model = build_without_weights(part, scope, 'meta')
    except Exception as error:
        if name := missing_class(error):
            raise refusal(part, path, name, failed) from error
        return ()  # then optimiser keys that only the heads could use are dropped with the others
    return tuple(name for name, _ in model.named_parameters() if not name.startswith('backbone.'))
