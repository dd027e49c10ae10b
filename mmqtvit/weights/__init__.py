"""Checkpoints in the layouts that the models circulate in."""

from .layouts import LAYOUTS
from .load import Report, convert, load_weights

__all__ = ['LAYOUTS', 'Report', 'convert', 'load_weights']
