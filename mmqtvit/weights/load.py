"""From a state dict in any known layout to a model's own."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import UserError
from .layouts import LAYOUTS

#: What a wrapped model, or a whole one, has before its keys. Of several places that fit equally
#: well one with such a name is meant, not ``momentum_encoder.`` or the like.
PLAIN = re.compile(r'((module|model|backbone)\.)*')
#: Containers that hold a state dict; an averaged (EMA) one is what training aims at. The published
#: training scripts keep one for each decay under ``ema``. mmengine's ``ema_state_dict`` is not
#: among them: its checkpoints have the average under ``state_dict`` and the raw weights there.
CONTAINERS = ('state_dict_ema', 'model_ema', 'ema', 'state_dict', 'model')
EMBEDDING = 'position_embedding.weight'


class SeveralPlaces(UserError):
    """A file holds what is looked for more than once."""


@dataclass
class Report:
    """What became of a checkpoint.

    Args:
        layout (str): Layout that the keys were recognised as.
        prefix (str): What the file's keys have before the layout's. Defaults to ''.
        loaded (dict[str, str]): The file's key for each of our names that was taken.
        resized (list[str]): Of these, the positional embeddings that were resized.
        missing (list[str]): Our names of entries that the file does not have.
        unexpected (list[str]): Keys of the file that the model does not have.
        misshaped (list[str]): Our names of entries whose shape differs, not taken.
    """
    layout: str
    prefix: str = ''
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
        place = '' if PLAIN.fullmatch(self.prefix) else f' below {self.prefix}'
        lines = [f'{len(self.loaded)} entries loaded from the {self.layout} layout{place}']
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
    """Take the state dict out of a checkpoint; an averaged one first.

    Args:
        checkpoint (dict): As read from a file.

    Returns:
        dict[str, Tensor]: All tensors. Those of dicts that have no known name, such as ``student``,
        have that name before theirs. ``_orig_mod``, which ``torch.compile`` puts into names, is
        left out.
    """
    for name in CONTAINERS:
        if isinstance(checkpoint.get(name), dict):
            return unwrap(checkpoint[name])
    if checkpoint and all(isinstance(decay, float) for decay in checkpoint):
        return unwrap(checkpoint[max(checkpoint)])
    return {without_compile(key): value for key, value in _tensors(checkpoint)}


def without_compile(name: str) -> str:
    """Leave out what ``torch.compile`` puts into names."""
    return re.sub(r'(^|(?<=\.))_orig_mod\.', '', name)


def _tensors(entries: dict) -> Iterator[tuple[str, Tensor]]:
    for key, value in entries.items():
        if isinstance(key, str) and isinstance(value, Tensor):
            yield key, value
        elif isinstance(key, str) and isinstance(value, dict):
            yield from ((f'{key}.{name}', tensor) for name, tensor in _tensors(value))


def below(state_dict: dict, prefix: str) -> dict:
    """Take the entries below a prefix, without it.

    Args:
        state_dict (dict[str, Tensor]): As from :func:`unwrap`.
        prefix (str): Such as ``student.backbone``, with or without a dot at its end.

    Returns:
        dict[str, Tensor]: The entries; all of them where the prefix is empty.

    Raises:
        UserError: If no key has it; the message shows some keys.
    """
    start = without_compile(prefix.rstrip('.') + '.') if prefix else ''
    chosen = {key[len(start):]: value for key, value in state_dict.items() if key.startswith(start)}
    if state_dict and not chosen:
        raise UserError(f'no key begins with the prefix {prefix!r}; it has '
                        f'{first_keys(state_dict)}, …')
    return chosen


def first_keys(names: Iterable) -> str:
    """Three keys, each of another beginning."""
    first = {}
    for name in names:
        first.setdefault(name.split('.')[0], name)
    return ', '.join(list(first.values())[:3])


def own_names(model: nn.Module) -> tuple[dict, str]:
    """The model's keys by their classifier-wide name, and its series.

    Args:
        model (nn.Module): A backbone, or a model with one as ``backbone``.
    """
    backbone = getattr(model, 'backbone', model)
    prefix = '' if backbone is not model else 'backbone.'
    return {prefix + key: key for key in model.state_dict()}, backbone.series


def places_of(keys: Iterable) -> dict[str, list]:
    """For each end of a key all that stands before it: ``b.c`` has ``a.`` if ``a.b.c`` is a key."""
    places = defaultdict(list)
    for key in keys:
        for start in [0, *(match.end() for match in re.finditer(r'\.', key))]:
            places[key[start:]].append(key[:start])
    return places


def best_place(places: dict, *layouts: dict) -> tuple[int, str, dict]:
    """Find the prefix below which most names are.

    Args:
        places (dict[str, list[str]]): From :func:`places_of`.
        *layouts (dict[str, str]): What the model's keys may be called in the file.

    Returns:
        tuple[int, str, dict[str, str]]: Which layout it is, the prefix, and the file's key for each
        of the model's keys that it has; none if no key fits.

    Raises:
        SeveralPlaces: If several places fit equally well; the message names them.
    """
    counts = Counter((index, prefix) for index, names in enumerate(layouts)
                     for name in names.values() for prefix in places.get(name, ()))
    most = max(counts.values(), default=0)
    best = {}  # the same keys may be found in two ways
    for (index, prefix), count in counts.items():
        if count == most:
            found = {key: prefix + name for key, name in layouts[index].items()
                     if prefix in places.get(name, ())}
            best.setdefault(frozenset(found.items()), (index, prefix, found))
    choice = list(best.values())
    choice = [place for place in choice if PLAIN.fullmatch(place[1])][:1] or choice
    if len(choice) > 1:
        prefixes = sorted(prefix.rstrip('.') for _, prefix, _ in choice)
        raise SeveralPlaces(
            f'the file holds the model {len(choice)} times, below {" and ".join(prefixes)}. Choose '
            f"one: prefix={prefixes[0]!r} in init_cfg=dict(type='Pretrained', checkpoint=…), or "
            f'--prefix {prefixes[0]} of tools/convert_checkpoint.py, or save it in its own file')
    return choice[0] if choice else (0, '', {})


def recognise(keys: Iterable, names: dict, series: str) -> tuple[str, str, dict]:
    """Find the layout and prefix under which most keys are the model's.

    Args:
        keys (Iterable[str]): Of the file.
        names (dict[str, str]): The model's keys by classifier-wide name.
        series (str): 'b' or 'l'.

    Returns:
        tuple[str, str, dict[str, str]]: The layout, the prefix, and the file's key for each of the
        model's keys that it has.

    Raises:
        UserError: If no key is the model's; the message shows some of both. If several places of
            the file fit equally well.
    """
    layouts = []
    for layout, rename in LAYOUTS.items():
        theirs = {key: rename(name, series) for name, key in names.items()}
        bare = {key: name[len('backbone.'):] for key, name in theirs.items()
                if name.startswith('backbone.')}
        layouts += [(layout, theirs), (layout, bare)]
    index, prefix, found = best_place(places_of(keys), *(theirs for _, theirs in layouts))
    if not found:
        raise UserError(
            'no key of the checkpoint is one of the model.\n'
            f'  the file has {first_keys(keys)}, …\n'
            f'  expected {", ".join(list(names)[:3])}, … (mmqtvit), or the layouts '
            f'{", ".join(name for name in LAYOUTS if name != "mmqtvit")}, below any prefix')
    return layouts[index][0], prefix, found


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
    layout, prefix, found = recognise(state_dict, names, series)
    report = Report(layout, prefix)
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
