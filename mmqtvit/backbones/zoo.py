"""The families of backbones: one row each.

A new family is a module with its class, which has ``ARCHS`` and is decorated with
:func:`mmqtvit.registry.register_model`, and a row of :data:`FAMILIES`. All that asks for names of
architectures, their classes or their classifiers, asks here.
"""

from dataclasses import dataclass, field
from typing import Union

from torch import nn

from ..errors import UserError
from .efficientvit import EfficientViT
from .qtvit import QTVIT_NAMES, QTViT

#: How images were normalised for the pretraining on ImageNet, in RGB.
IMAGENET = dict(mean=(123.675, 116.28, 103.53), std=(58.395, 57.12, 57.375), to_rgb=True)

_CLASSIFIER_WIDTHS = {
    'b0': (1024, 1280),
    'b1': (1536, 1600),
    'b2': (2304, 2560),
    'b3': (2304, 2560),
    'l1': (3072, 3200),
    'l2': (3072, 3200),
    'l3': (6144, 6400),
}


@dataclass(frozen=True)
class Family:
    """What the package knows of a family beside its class.

    Args:
        cls (type): Class of the backbones; its ``ARCHS`` has the architectures by name.
        classifier_widths (dict[str, tuple[int, int]]): Hidden widths of the published classifiers,
            of the convolution and of the linear layer, by architecture. Defaults to none.
        no_decay (tuple[str]): Parts of the names of parameters that weight decay leaves alone.
            Defaults to none.
    """
    cls: type
    classifier_widths: dict = field(default_factory=dict)
    no_decay: tuple = ()


#: The first one takes architectures that have no name.
FAMILIES = (
    Family(
        QTViT,
        classifier_widths={name: _CLASSIFIER_WIDTHS[other] for name, other in QTVIT_NAMES.items()},
        no_decay=('position_embedding', 'kernel.constant')),
    Family(EfficientViT, classifier_widths=_CLASSIFIER_WIDTHS),
)


def arch_names() -> tuple[str, ...]:
    """Names of all architectures."""
    return tuple(name for family in FAMILIES for name in family.cls.ARCHS)


def family_of(arch: Union[str, dict]) -> Family:
    """Find the family of an architecture.

    Args:
        arch (str | dict): A name, or a dict as the first family takes it.

    Returns:
        Family: Its row.

    Raises:
        UserError: If no family has the name.
    """
    for family in FAMILIES:
        if isinstance(arch, dict) or arch in family.cls.ARCHS:
            return family
    raise UserError(f'arch must be one of {", ".join(arch_names())}, got {arch!r}')


def no_decay_names() -> tuple[str, ...]:
    """Parts of the names of parameters that weight decay leaves alone, of all families."""
    return tuple(dict.fromkeys(name for family in FAMILIES for name in family.no_decay))


def build_backbone(arch: Union[str, dict], **kwargs) -> nn.Module:
    """Build the backbone of an architecture; arguments as for its class."""
    return family_of(arch).cls(arch, **kwargs)


def is_own(backbone: object) -> bool:
    """Whether a module is a backbone of this package."""
    return isinstance(backbone, tuple(family.cls for family in FAMILIES))


def is_own_name(name: str) -> bool:
    """Whether a class name, without scope, is that of a backbone of this package."""
    return any(name == family.cls.__name__ for family in FAMILIES)
