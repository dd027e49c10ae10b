"""Configs whose backbone cannot be exchanged, and why."""

from ..cfg.tree import as_list, at, type_name
from ..errors import UserError
from ..toolboxes import get_toolbox, names
from ..toolboxes.base import PAIRED

WRAPPERS = ('detector', )  # keys under which tracking and semi-supervised models keep a detector


class SwapRefused(UserError):
    """The backbone of a config cannot be exchanged.

    Args:
        reason (str): Why; a clause whose subject is the config or a part of it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f'the backbone of this config cannot be exchanged: {reason}')
        self.reason = reason


class BackboneMissing(SwapRefused):
    """The old backbone cannot be built here: its class is not registered, or a package missing."""


def locate_backbone(cfg: dict, path: tuple = ('model', )) -> tuple:
    """Path of the part of a config that has the backbone: the model or the detector in it.

    Args:
        cfg (dict): The whole config.
        path (tuple): Of the part in which to look. Defaults to ('model', ).

    Raises:
        SwapRefused: If there is none, or if the model is bound to its own.
    """
    model = at(cfg, path[:-1]).get(path[-1])
    if not isinstance(model, dict):
        raise SwapRefused('it has no model')
    kind = type_name(model)
    if kind in _bound('models'):
        raise SwapRefused(f'{kind} {_bound("models")[kind]}')
    if isinstance(model.get('backbone'), dict):
        _check(model)
        return path
    for key in WRAPPERS:
        if isinstance(model.get(key), dict) and type_name(model[key]):
            return locate_backbone(cfg, (*path, key))
    texts = sorted(key for key in model if key.startswith(('text_', 'language_', 'lang_')))
    if texts:
        raise SwapRefused(f'{kind} {PAIRED} ({", ".join(texts)})')
    vision = sorted(key for key in model if key.startswith(('vision_', 'visual_', 'image_')))
    if vision:
        raise SwapRefused(f'{kind} keeps its image encoder in {", ".join(vision)}, whose tokens '
                          'or features the rest of it is trained on')
    raise SwapRefused(f'{kind or "the model"} has no image backbone in the config')


def _check(part: dict) -> None:
    """Refuse what is known to read more than maps.

    Raises:
        SwapRefused: If the backbone, neck or a head is bound to the old backbone.
    """
    name = type_name(part['backbone'])
    if name in _bound('backbones'):
        raise SwapRefused(f'its backbone {name} {_bound("backbones")[name]}')
    for neck in as_list(part.get('neck')):
        if type_name(neck) in _bound('necks'):
            raise SwapRefused(f'its neck {type_name(neck)} {_bound("necks")[type_name(neck)]}')
    heads = [head for key, value in part.items() if key.endswith('head')
             for head in as_list(value)]
    for head in heads:
        if type_name(head) in _bound('heads'):
            raise SwapRefused(f'its head {type_name(head)} {_bound("heads")[type_name(head)]}')
        if isinstance(head, dict) and type_name(head.get('shared_head')).startswith('ResLayer'):
            raise SwapRefused('its RoI head contains the last stage of a ResNet (shared_head)')
    texts = sorted(key for key in part if key.startswith(('text_', 'language_', 'lang_')))
    if texts:
        raise SwapRefused(f'{type_name(part)} {PAIRED} ({", ".join(texts)})')
    if not part.get('neck') and not any(heads):
        raise SwapRefused('it has neither neck nor head to read a new backbone')


def _bound(kind: str) -> dict:
    """Why classes of a kind, such as 'heads', are bound to their backbone, in any toolbox."""
    return {name: reason for toolbox in names()
            for name, reason in getattr(get_toolbox(toolbox), f'bound_{kind}').items()}
