"""What goes with a backbone: its own arguments, weights, optimiser keys."""

from collections.abc import Sequence
from typing import Any, Optional, Union

from ..backbones.zoo import family_of, no_decay_names
from ..cfg.tree import at, type_name
from .changes import Changes
from .probe import BackboneProfile, names_weights

SHOWN = 3  # keys in a note
BATCH_NORMS = ('BN', 'SyncBN', 'MMSyncBN')
OWN_BLOCKS = ('dcn', 'plugins', 'sac', 'gen_attention', 'stage_with_gen_attention')
# They know the layers of a few classes, and put all parameters of any other class in one layer.
LAYER_DECAYS = ('LearningRateDecayOptimizerConstructor', 'LayerDecayOptimizerConstructor')
NOT_FROZEN = ('nothing is frozen, because there are no pretrained weights: name a checkpoint to '
              'keep frozen_stages and norm_eval')


def new_backbone(old: dict, arch: Union[str, dict], out_indices: tuple,
                 checkpoint: Optional[str]) -> tuple:
    """The new backbone's config, with those of the old one's arguments that it has as well.

    Args:
        old (dict): The old backbone's config.
        arch (str | dict): As for :class:`QTViT` or :class:`EfficientViT`.
        out_indices (tuple[int]): Stages to return.
        checkpoint (str, optional): Pretrained weights. Without them nothing is frozen.

    Returns:
        tuple[dict, list[str]]: The config, and warnings.
    """
    backbone, warnings = dict(type=f'mmqtvit.{family_of(arch).cls.__name__}', arch=arch), []
    if old.get('in_channels', 3) != 3:
        backbone['in_channels'] = old['in_channels']
    if out_indices != (0, 1, 2, 3):
        backbone['out_indices'] = out_indices
    frozen = old.get('frozen_stages', -1)
    if checkpoint and isinstance(frozen, int) and frozen >= 0:
        backbone['frozen_stages'] = min(frozen, 4)
    norm = old.get('norm_cfg')
    if type_name(norm) in BATCH_NORMS:
        backbone['norm_cfg'] = {**norm, 'requires_grad': True}
        backbone['norm_cfg'].pop('eps', None)  # the new architecture has a published one of its own
    if checkpoint:
        if old.get('norm_eval'):
            backbone['norm_eval'] = True
        backbone['init_cfg'] = dict(type='Pretrained', checkpoint=str(checkpoint))
    elif isinstance(frozen, int) and frozen >= 0 or old.get('norm_eval'):
        warnings.append(NOT_FROZEN)
    if old.get('with_cp'):
        backbone['with_cp'] = True
    gone = [key for key in OWN_BLOCKS if old.get(key)]
    if gone:
        warnings.append(f'{", ".join(gone)} of {type_name(old)} is dropped: the new backbone has '
                        'nothing like it')
    return backbone, warnings


def forget_weights(cfg: dict, path: tuple) -> Changes:
    """Drop what would load weights of the old model into the new one.

    Args:
        cfg (dict): The whole config.
        path (tuple): Of the part that has the backbone.
    """
    places = [('load_from', )] if cfg.get('load_from') else []
    for place in dict.fromkeys((('model', ), path)):
        places += [(*place, key) for key in ('pretrained', 'init_cfg')
                   if names_weights(at(cfg, place).get(key))]
    return Changes(tuple((place, None) for place in places), notes=tuple(
        f'{".".join(place)} becomes None: it names weights for the old backbone'
        for place in places))


def adapt_optimizer(cfg: dict, old: BackboneProfile, new: BackboneProfile, others: Sequence,
                    checkpoint: Optional[str]) -> Changes:
    """Replace what an optimiser's config says of the old backbone's parameters.

    Args:
        cfg (dict): The whole config.
        old (BackboneProfile): The old backbone.
        new (BackboneProfile): The new one.
        others (Sequence[str]): Names of the model's other parameters.
        checkpoint (str, optional): Pretrained weights of the new backbone.
    """
    wrapper, values, notes = cfg.get('optim_wrapper'), [], []
    if not isinstance(wrapper, dict):
        return Changes()
    options = dict(wrapper.get('paramwise_cfg') or {})
    constructor = type_name(dict(type=wrapper.get('constructor')))
    if constructor in LAYER_DECAYS:
        values.append((('optim_wrapper', 'constructor'), 'DefaultOptimWrapperConstructor'))
        gone = [f'{key}={options.pop(key)}' for key in ('decay_rate', 'decay_type', 'num_layers')
                if key in options]
        notes.append(f'{constructor} is replaced ({", ".join(gone)} dropped): it knows the '
                     'layers of a few backbones only')
    keys = dict(options.get('custom_keys') or {})
    gone = [key for key in keys if _only_in(key, old.names, (*_prefixed(new.names), *others))]
    if gone:
        keys = {key: value for key, value in keys.items() if key not in gone}
        more = f' and {len(gone) - SHOWN} more' if len(gone) > SHOWN else ''
        notes.append('custom_keys for parameters of the old backbone are dropped: '
                     f'{", ".join(gone[:SHOWN])}{more}')
    keys.update(_without_decay(keys, new.names))
    for key, value in keys.items():
        if value.get('lr_mult', 1) < 1 and not checkpoint and _fits_all(key, new.names):
            notes.append(f'custom_keys {key!r} keeps lr_mult={value["lr_mult"]}, which is meant '
                         'for a pretrained backbone')
    if keys or 'custom_keys' in options:
        options['custom_keys'] = keys
    if options != (wrapper.get('paramwise_cfg') or {}):
        values.append((('optim_wrapper', 'paramwise_cfg'), options))
    return Changes(tuple(values), tuple(notes))


def _only_in(key: str, old: Sequence, rest: Sequence) -> bool:
    return any(key in name for name in _prefixed(old)) and not any(key in name for name in rest)


def _fits_all(key: str, names: Sequence) -> bool:
    return all(key in name for name in _prefixed(names))


def _prefixed(names: Sequence) -> tuple:
    return tuple(f'backbone.{name}' for name in names)


def _without_decay(keys: dict, names: Sequence) -> dict[str, Any]:
    """Keys for the parameters that are not to decay.

    The longest key that fits a parameter is the only one used, so that ours take over what a
    shorter one, such as 'backbone', says of the learning rate.
    """
    ours = {}
    for kind in no_decay_names():
        fitting = [name for name in _prefixed(names) if kind in name]
        if fitting and kind not in keys:
            general = max((key for key in keys if all(key in name for name in fitting)),
                          key=len, default=None)
            ours[kind] = {**keys.get(general, {}), 'decay_mult': 0.}
    return ours
