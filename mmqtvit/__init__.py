"""QT-ViT backbones for OpenMMLab: linear attention from a quadratic Taylor expansion."""

from .backbones import EfficientViT, QTViT
from .necks import ClassifierNeck

__version__ = '0.1.0'

__all__ = ['ClassifierNeck', 'EfficientViT', 'QTViT', '__version__', 'deploy', 'swap_backbone']


def __getattr__(name: str) -> object:
    if name == 'swap_backbone':  # on demand: a backbone needs none of it
        from .swap import swap_backbone
        return swap_backbone
    if name == 'deploy':
        from .deployment import deploy
        return deploy
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
