"""Drawn scenes to try training on, in ADE20K's and COCO's layouts."""

from .dataset import write_dataset
from .scenes import CLASSES, SHAPES, STUFF, Scene, draw_scene

__all__ = ['CLASSES', 'SHAPES', 'STUFF', 'Scene', 'draw_scene', 'write_dataset']
