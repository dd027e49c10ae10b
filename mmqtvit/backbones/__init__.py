"""Backbones that return one feature map per stage."""

from . import zoo  # registers all families
from .efficientvit import EfficientViT
from .qtvit import QTViT

__all__ = ['EfficientViT', 'QTViT', 'zoo']
