"""Exchanges the backbone of a config: config in, config out."""

from .check import Check, CheckFailed, check_config, check_swap
from .leaf import leaf_text, write_leaf
from .plan import Plan, plan_swap, swap_backbone
from .refuse import SwapRefused

__all__ = [
    'Check', 'CheckFailed', 'Plan', 'SwapRefused', 'check_config', 'check_swap',
    'leaf_text', 'plan_swap', 'swap_backbone', 'write_leaf'
]
