"""QT-ViT backbones for OpenMMLab: linear attention from a quadratic Taylor expansion."""

from .backbones import EfficientViT, QTViT
from .necks import ClassifierNeck

__version__ = '0.1.0'

__all__ = ['ClassifierNeck', 'EfficientViT', 'QTViT', '__version__']
