"""Exchanges the backbone of a config: config in, config out."""

from .check import Check, CheckFailed, check_config
from .leaf import leaf_text, write_leaf
from .refuse import SwapRefused
from .swap import Swap, plan_swap, swap_backbone

__all__ = [
    'Check', 'CheckFailed', 'Swap', 'SwapRefused', 'check_config', 'leaf_text',
    'plan_swap', 'swap_backbone', 'write_leaf'
]
