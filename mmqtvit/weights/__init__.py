"""Checkpoints in the layouts that the models circulate in."""

from .layouts import LAYOUTS
from .load import Report, convert, load_weights
from .read import read_checkpoint
from .safe_load import allow_openmmlab_checkpoints

__all__ = [
    'LAYOUTS', 'Report', 'allow_openmmlab_checkpoints', 'convert', 'load_weights', 'read_checkpoint'
]
