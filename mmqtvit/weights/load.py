"""From a state dict in any known layout to a model's own."""

import re
from collections import Counter
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import UserError
from .layouts import LAYOUTS

#: What files may put before their keys, the whole model wrapped or only its backbone kept.
PREFIXES = ('', 'backbone.', 'module.', 'module.backbone.', 'model.')
#: Containers that hold a state dict; an averaged (EMA) one is what training aims at. mmengine's
#: ``ema_state_dict`` is not among them: its checkpoints have the average under ``state_dict`` and
#: keep the raw weights in that other place.
CONTAINERS = ('state_dict_ema', 'state_dict', 'model')
EMBEDDING = 'position_embedding.weight'


@dataclass
class Report:
    """What became of a checkpoint.

    Args:
        layout (str): Layout that the keys were recognised as.
        loaded (dict[str, str]): The file's key for each of our names that was taken.
        resized (list[str]): Of these, the positional embeddings that were resized.
        missing (list[str]): Our names of entries that the file does not have.
        unexpected (list[str]): Keys of the file that the model does not have.
        misshaped (list[str]): Our names of entries whose shape differs, not taken.
    """
    layout: str
    loaded: dict = field(default_factory=dict)
    resized: list = field(default_factory=list)
    missing: list = field(default_factory=list)
    unexpected: list = field(default_factory=list)
    misshaped: list = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f'{len(self.loaded)} entries loaded from the {self.layout} layout']
        for what, names in (('resized', self.resized), ('not in the file, stay fresh',
                                                        self.missing),
                            ('in the file only', self.unexpected),
                            ('of another shape, not loaded', self.misshaped)):
            if names:
                lines.append(f'{what}: {group(names)}')
        return '; '.join(lines)


def group(names: list) -> str:
    """Sum up names that differ in their numbers only, such as ``stages.*.weight (12)``."""
    counts = Counter(re.sub(r'\d+', '*', name) for name in names)
    return ', '.join(f'{name} ({count})' for name, count in sorted(counts.items()))


def unwrap(checkpoint: dict) -> dict:
    """Take the state dict out of a checkpoint; an averaged one first."""
    for name in CONTAINERS:
        if isinstance(checkpoint.get(name), dict):
            return unwrap(checkpoint[name])
    return {key: value for key, value in checkpoint.items() if isinstance(value, Tensor)}


def own_names(model: nn.Module) -> tuple[dict, str]:
    """The model's keys by their classifier-wide name, and its series.

    Args:
        model (nn.Module): A backbone, or a model with one as ``backbone``.
    """
    backbone = getattr(model, 'backbone', model)
    prefix = '' if backbone is not model else 'backbone.'
    return {prefix + key: key for key in model.state_dict()}, backbone.series


def recognise(keys: set, names: dict, series: str) -> tuple[str, dict]:
    """Find the layout and prefix under which most keys are the model's.

    Args:
        keys (set[str]): Of the file.
        names (dict[str, str]): The model's keys by classifier-wide name.
        series (str): 'b' or 'l'.

    Returns:
        tuple[str, dict[str, str]]: The layout, and the file's key for each of the model's keys
        that it has.

    Raises:
        UserError: If no key is the model's; the message shows some of both.
    """
    best, found = '', {}
    for layout, rename in LAYOUTS.items():
        theirs = {key: rename(name, series) for name, key in names.items()}
        for prefix in PREFIXES:
            for cut in ('', 'backbone.'):  # files of a bare backbone
                matches = {
                    key: prefix + name[len(cut):]
                    for key, name in theirs.items()
                    if name.startswith(cut) and prefix + name[len(cut):] in keys
                }
                if len(matches) > len(found):
                    best, found = layout, matches
    if not found:
        raise UserError(
            'no key of the checkpoint is one of the model.\n'
            f'  the file has {", ".join(sorted(keys)[:3])}, …\n'
            f'  expected {", ".join(list(names)[:3])}, … (mmqtvit), or the layouts '
            f'{", ".join(name for name in LAYOUTS if name != "mmqtvit")}')
    return best, found


def resize_embedding(weight: Tensor, shape: torch.Size) -> Tensor:
    """Resize a positional embedding (1, C, S, S) to another native size, bicubically."""
    resized = F.interpolate(weight.float(), shape[-2:], mode='bicubic', align_corners=False)
    return resized.to(weight.dtype)


def convert(checkpoint: dict, model: nn.Module) -> tuple[dict, Report]:
    """Bring a checkpoint into the model's own layout and sizes.

    Args:
        checkpoint (dict): As read from a file, in any known layout.
        model (nn.Module): A backbone, or a model with one as ``backbone``.

    Returns:
        tuple[dict, Report]: The state dict, of entries that the model has, and what became of
        the rest.

    Raises:
        UserError: If nothing fits the model.
    """
    state_dict = unwrap(checkpoint)
    names, series = own_names(model)
    layout, found = recognise(set(state_dict), names, series)
    report = Report(layout)
    converted = {}
    for key, expected in model.state_dict().items():
        if key not in found:
            report.missing.append(key)
            continue
        value = state_dict[found[key]]
        if value.shape != expected.shape:
            same_channels = value.dim() == 4 and value.shape[:2] == expected.shape[:2]
            if not (key.endswith(EMBEDDING) and same_channels):
                report.misshaped.append(key)
                continue
            value = resize_embedding(value, expected.shape)
            report.resized.append(key)
        converted[key] = value
        report.loaded[key] = found[key]
    report.unexpected = sorted(set(state_dict) - set(found.values()))
    if not any(key.endswith('weight') for key in converted):
        raise UserError(
            f'the checkpoint is of the {layout} layout, but of another architecture: '
            f'{group(report.misshaped[:4])} have other shapes')
    return converted, report


def load_weights(model: nn.Module, checkpoint: dict) -> Report:
    """Load a checkpoint of any known layout into a backbone or a model around one.

    Args:
        model (nn.Module): A backbone, or a model with one as ``backbone``.
        checkpoint (dict): As read from a file.

    Returns:
        Report: What was loaded and what was not.

    Raises:
        UserError: If nothing fits the model.
    """
    converted, report = convert(checkpoint, model)
    model.load_state_dict(converted, strict=not (report.missing or report.misshaped))
    return report
