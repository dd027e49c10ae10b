"""From a state dict in any known layout to a model's own."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import UserError
from .layouts import LAYOUTS

#: What files may put before their keys, the whole model wrapped or only its backbone kept.
PREFIXES = ('', 'backbone.', 'module.', 'module.backbone.', 'model.')
#: Containers that hold a state dict; an averaged (EMA) one is what training aims at. The published
#: training scripts keep one for each decay under ``ema``. mmengine's ``ema_state_dict`` is not
#: among them: its checkpoints have the average under ``state_dict`` and the raw weights there.
CONTAINERS = ('state_dict_ema', 'model_ema', 'ema', 'state_dict', 'model')
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

    @property
    def incomplete(self) -> bool:
        """bool: Whether a part of the file or of the model was left out."""
        return bool(self.missing or self.unexpected or self.misshaped)

    def __str__(self) -> str:
        lines = [f'{len(self.loaded)} entries loaded from the {self.layout} layout']
        for what, names in (('resized', self.resized), ('not in the file, stay fresh',
                                                        self.missing),
                            ('in the file only', self.unexpected),
                            ('of another shape, not loaded', self.misshaped)):
            if names:
                lines.append(f'{what}: {group(names)}')
        return '; '.join(lines)


def group(names: Iterable) -> str:
    """Sum up names that differ in their numbers only, such as ``stages.*.weight (12)``."""
    counts = Counter(re.sub(r'\d+', '*', name) for name in names)
    return ', '.join(f'{name} ({count})' for name, count in sorted(counts.items()))


def unwrap(checkpoint: dict) -> dict:
    """Take the state dict out of a checkpoint; an averaged one first."""
    for name in CONTAINERS:
        if isinstance(checkpoint.get(name), dict):
            return unwrap(checkpoint[name])
    if checkpoint and all(isinstance(decay, float) for decay in checkpoint):
        return unwrap(checkpoint[max(checkpoint)])
    return {key: value for key, value in checkpoint.items()
            if isinstance(key, str) and isinstance(value, Tensor)}


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
            f'  the file has {", ".join(sorted(keys)[:3]) or "no tensors"}, …\n'
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
        UserError: If nothing fits the model, or less than half of its backbone's entries.
    """
    state_dict = unwrap(checkpoint)
    if not state_dict:
        raise UserError('no tensors in the checkpoint; it holds '
                        f'{", ".join(map(str, list(checkpoint)[:4])) or "nothing"}')
    names, series = own_names(model)
    layout, found = recognise(set(state_dict), names, series)
    report = Report(layout)
    converted = {}
    for key, expected in model.state_dict().items():
        if key not in found:
            # The count is of use to no norm with a fixed momentum, and old files are without.
            if not key.endswith('num_batches_tracked'):
                report.missing.append(key)
            continue
        value = state_dict[found[key]]
        if value.dim() == 0 and expected.shape == (1, ):
            value = value.reshape(1)  # published files have scalars without dimensions
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
    own = {key for name, key in names.items() if name.startswith('backbone.')}
    if len(own & converted.keys()) < len(own) / 2:
        raise UserError(
            f'the checkpoint is of the {layout} layout, but of another architecture: '
            f'{len(own & converted.keys())} of {len(own)} entries of the backbone fit.\n'
            + _differences(report, found, state_dict, model.state_dict()))
    return converted, report


def _differences(report: Report, found: dict, state_dict: dict, expected: dict) -> str:
    lines = [f'  {found[key]}: {tuple(state_dict[found[key]].shape)} in the file, '
             f'{tuple(expected[key].shape)} in the model' for key in report.misshaped[:3]]
    if report.missing:
        lines.append(f'  not in the file: {group(report.missing[:9])}, …')
    return '\n'.join(lines)


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
    model.load_state_dict(converted, strict=False)  # all is in the report
    return report
