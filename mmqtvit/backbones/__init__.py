"""Registered backbones."""

from .efficientvit import EfficientViT
from .qtvit import QTViT

__all__ = ['EfficientViT', 'QTViT']
