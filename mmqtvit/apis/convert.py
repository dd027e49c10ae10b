"""Writes a checkpoint of one layout in another."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Optional

import torch
from torch import nn

from ..backbones.zoo import arch_names, build_backbone, family_of
from ..errors import UserError
from ..necks import ClassifierNeck
from ..weights.layouts import LAYOUTS, value_in
from ..weights.load import (
    Report,
    SeveralPlaces,
    below,
    convert,
    first_keys,
    own_names,
    unwrap,
)

#: A block of a stage and, in it, attention or local part, in any layout.
BLOCK = re.compile(r'(.*?stages\.\d+(?:\.op_list|\.blocks)?)\.\d+'
                   r'(\.(?:attention|context_module|local_module|local))?')


@dataclass
class Conversion:
    """A checkpoint in another layout.

    Args:
        state_dict (dict[str, Tensor]): The entries under their new names.
        sources (dict[str, str]): The file's key for each new name.
        report (Report): What became of the file's entries; those that the model does not have are
            in ``report.unexpected``, not converted.
        arch (str): One of ``arch_names()``.
    """
    state_dict: dict
    sources: dict
    report: Report
    arch: str

    @property
    def parts(self) -> Counter:
        """Counter[tuple[str, str]]: Entries by the part of the model, in the file and here."""
        return Counter((_part_of(source), _part_of(name)) for name, source in self.sources.items())


def _part_of(name: str) -> str:
    block = BLOCK.match(name)
    return f'{block[1]}.*{block[2] or ""}' if block else re.match(r'(backbone\.)?[^.]+', name)[0]


class Classifier(nn.Module):
    """Backbone, neck and linear layer under mmpretrain's names.

    Args:
        arch (str): One of ``arch_names()`` that has a published classifier: all but 'l0'.
        num_classes (int): Defaults to 1000.
    """

    def __init__(self, arch: str, num_classes: int = 1000) -> None:
        super().__init__()
        self.backbone = build_backbone(arch)
        widths = family_of(arch).classifier_widths[arch]
        self.neck = ClassifierNeck(self.backbone.out_channels[-1], *widths, self.backbone.series)
        self.head = nn.Module()
        self.head.fc = nn.Linear(widths[1], num_classes)


def _fit(state_dict: dict, arch: str, num_classes: int) -> Optional[tuple[dict, Report, nn.Module]]:
    with torch.device('meta'):  # names and shapes are all that counts
        backbone = build_backbone(arch)
        published = arch in family_of(arch).classifier_widths
        classifier = Classifier(arch, num_classes) if published else None
    for model in filter(None, (classifier, backbone)):
        try:
            converted, report = convert(state_dict, model)
        except SeveralPlaces:
            raise
        except UserError:
            continue
        if not report.missing and not report.misshaped:
            return converted, report, model
    return None


def _num_classes(state_dict: dict) -> int:
    for name in ('head.fc.bias', 'head.op_list.3.linear.bias', 'head.classifier.4.bias'):
        for key, value in state_dict.items():
            if key.endswith(name) and value.dim() == 1:
                return len(value)
    return 1000


def convert_checkpoint(checkpoint: dict,
                       layout: str = 'mmqtvit',
                       arch: Optional[str] = None,
                       backbone_only: bool = False,
                       prefix: str = '') -> Conversion:
    """Rename a checkpoint's entries to those of another layout.

    Args:
        checkpoint (dict): A classifier's or a backbone's, in any known layout.
        layout (str): Layout to write, one of ``LAYOUTS``. Defaults to 'mmqtvit'.
        arch (str, optional): One of ``arch_names()``. Defaults to None: found from the names
            and shapes.
        backbone_only (bool): Whether to leave out neck and head and, in this package's layout,
            the prefix ``backbone.``. Defaults to False.
        prefix (str): What the keys of the entries begin with, such as 'student', where the file
            holds several models. Defaults to ''.

    Returns:
        Conversion: The entries, where they come from, and what is left over.

    Raises:
        UserError: If the checkpoint is of none of the architectures, or not of ``arch``, or of
            several models.
    """
    state_dict = below(unwrap(checkpoint), prefix)
    classes = _num_classes(state_dict)
    fits = {name: fit for name in ((arch, ) if arch else arch_names())
            if (fit := _fit(state_dict, name, classes))}
    if not fits:
        raise UserError(f'the file holds no whole model of {arch or ", ".join(arch_names())}; '
                        f'it has {first_keys(state_dict)}, …')
    # A deeper model holds all that a shallower one asks for: the one that leaves least is meant.
    found = min(fits, key=lambda name: len(fits[name][1].unexpected))
    converted, report, model = fits[found]
    names, series = own_names(model)
    renamed, sources = {}, {}
    for name, key in names.items():
        if backbone_only and not name.startswith('backbone.'):
            continue
        new = LAYOUTS[layout](name, series)
        if layout == 'mmqtvit' and (backbone_only or model is getattr(model, 'backbone', model)):
            new = name[len('backbone.'):]
        renamed[new], sources[new] = value_in(layout, key, converted[key]), report.loaded[key]
    return Conversion(renamed, sources, report, found)
