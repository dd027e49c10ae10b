"""Configs whose backbone cannot be exchanged, and why."""

from typing import Any

from ..cfg.tree import as_list, type_name
from ..errors import UserError

BRANCHES = 'has branches of its own, which its heads and auxiliary losses are written for'
DECODER = 'has a decoder of its own, which would go with it'
MASKED = 'is pretrained by masking patches inside the backbone'
PAIRED = 'pairs an image tower with a text tower; the two are trained to agree'

BOUND_BACKBONES = {
    'BiSeNetV1': BRANCHES,
    'BiSeNetV2': BRANCHES,
    'DDRNet': BRANCHES,
    'FastSCNN': BRANCHES,
    'ICNet': BRANCHES,
    'PIDNet': BRANCHES,
    'STDCContextPathNet': BRANCHES,
    'CGNet': 'ends at stride 8 by design: it is the whole segmentor but for one classifier',
    'ERFNet': DECODER,
    'UNet': DECODER,
    'TridentResNet': 'returns three dilations stacked in the batch, which only its own heads read',
    'iTPNHiViT': MASKED,
    'VPD': 'is a text-conditioned diffusion model',
    'LoRAModel': 'wraps the very layers that it adapts',
}
BOUND_MODELS = {
    'SparK': MASKED,
    'SimMIM': MASKED,
    'MixMIM': MASKED,
    'MaskFeat': MASKED,
    'GLIP': PAIRED,
    'GroundingDINO': PAIRED,
}
BOUND_NECKS = {
    'RFP': 'runs a second copy of the backbone on its own outputs',
    'MLANeck': 'adds up maps of one size, and the new ones have four sizes',
    'ICNeck': BRANCHES,
}
BOUND_HEADS = {
    'DPTHead': 'reads the class token beside the patches',
    'DeiTClsHead': 'reads the class token and the distillation token',
    'ConformerHead': 'reads the class token of one branch and the map of another',
    'ClsHead': 'has no layers of its own: the classifier is part of the backbone',
    'MultiLabelClsHead': 'has no layers of its own: the classifier is part of the backbone',
}
WRAPPERS = ('detector', )  # keys under which tracking and semi-supervised models keep a detector


class SwapRefused(UserError):
    """The backbone of a config cannot be exchanged.

    Args:
        reason (str): Why; a clause whose subject is the config or a part of it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f'the backbone of this config cannot be exchanged: {reason}')
        self.reason = reason


def find_backbone(model: Any) -> dict:
    """The part of a model's config that has the backbone: the model or the detector in it.

    Raises:
        SwapRefused: If there is none, or if the model is bound to its own.
    """
    if not isinstance(model, dict):
        raise SwapRefused('it has no model')
    kind = type_name(model)
    if kind in BOUND_MODELS:
        raise SwapRefused(f'{kind} {BOUND_MODELS[kind]}')
    if isinstance(model.get('backbone'), dict):
        _check(model)
        return model
    for key in WRAPPERS:
        if isinstance(model.get(key), dict) and type_name(model[key]):
            return find_backbone(model[key])
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
    if name in BOUND_BACKBONES:
        raise SwapRefused(f'its backbone {name} {BOUND_BACKBONES[name]}')
    for neck in as_list(part.get('neck')):
        if type_name(neck) in BOUND_NECKS:
            raise SwapRefused(f'its neck {type_name(neck)} {BOUND_NECKS[type_name(neck)]}')
    heads = [head for key, value in part.items() if key.endswith('head')
             for head in as_list(value)]
    for head in heads:
        if type_name(head) in BOUND_HEADS:
            raise SwapRefused(f'its head {type_name(head)} {BOUND_HEADS[type_name(head)]}')
        if isinstance(head, dict) and type_name(head.get('shared_head')).startswith('ResLayer'):
            raise SwapRefused('its RoI head goes on with the last stage of a ResNet (shared_head)')
    texts = sorted(key for key in part if key.startswith(('text_', 'language_', 'lang_')))
    if texts:
        raise SwapRefused(f'{type_name(part)} {PAIRED} ({", ".join(texts)})')
    if not part.get('neck') and not any(heads):
        raise SwapRefused('it has neither neck nor head: nothing is left beside the backbone')
