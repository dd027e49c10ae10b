"""Asks whether code is run or read."""

import torch


def is_compiling() -> bool:
    """Whether ``torch.compile`` is reading this code; PyTorch 2.1 has no public way to ask."""
    return hasattr(torch.compiler, 'is_compiling') and torch.compiler.is_compiling()
