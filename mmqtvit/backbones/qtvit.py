"""QT-ViT."""

from typing import Union

from ..registry import register_model
from .arch import EFFICIENTVIT_ARCHS
from .efficientvit import EfficientViT

#: The EfficientViT that each one is made from.
QTVIT_NAMES = dict(qtvit1='b1', qtvit2='b2', qtvit3='b3', qtvit4='l1', qtvit5='l2', qtvit6='l3')


@register_model
class QTViT(EfficientViT):
    """QT-ViT: EfficientViT with quadratic Taylor attention.

    A PyTorch implementation of `QT-ViT: Improving Linear Attention in ViT with Quadratic Taylor
    Expansion <https://openreview.net/forum?id=V2e0A2XIPF>`_ (Xu et al., NeurIPS 2024).

    QT-ViT-1, 2 and 3 are EfficientViT-B1, B2 and B3, QT-ViT-4, 5 and 6 are L1, L2 and L3, with
    three changes in the attention: the kernel, an absolute positional embedding of the keys, and a
    non-linear shortcut of the values. Only the defaults differ from :class:`EfficientViT`.

    Args:
        arch (str | dict): 'qtvit1' to 'qtvit6', or a dict as for :class:`EfficientViT`. Defaults
            to 'qtvit1'.
        attention (dict): Defaults to ``dict(type='ReleasedQuadraticTaylor')``, the kernel of the
            published weights.
        position_embedding (bool): Defaults to True.
        value_shortcut (bool): Defaults to True.
        **kwargs: The other arguments of :class:`EfficientViT`.

    Raises:
        ValueError: If an argument is out of range; the message names the choices.

    Example:
        >>> import torch
        >>> from mmqtvit import QTViT
        >>> model = QTViT('qtvit1', out_indices=(3, )).eval()
        >>> [tuple(level.shape) for level in model(torch.rand(1, 3, 224, 320))]
        [(1, 256, 7, 10)]
    """

    ARCHS = {name: EFFICIENTVIT_ARCHS[other] for name, other in QTVIT_NAMES.items()}

    def __init__(self,
                 arch: Union[str, dict] = 'qtvit1',
                 attention: dict = dict(type='ReleasedQuadraticTaylor'),
                 position_embedding: bool = True,
                 value_shortcut: bool = True,
                 **kwargs) -> None:
        super().__init__(
            arch,
            attention=attention,
            position_embedding=position_embedding,
            value_shortcut=value_shortcut,
            **kwargs)
