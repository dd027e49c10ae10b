"""Attention kernels in plain PyTorch; nothing here knows OpenMMLab.

A kernel maps q, k, v of shape (B, G, d, N) to (B, G, d, N); see :class:`AttentionKernel`.
"""

from .kernel import AttentionKernel
from .quadratic_taylor import ReleasedQuadraticTaylor
from .relu import ReLULinear

KERNELS = {cls.__name__: cls for cls in (ReleasedQuadraticTaylor, ReLULinear)}


def build_kernel(cfg: dict, head_dim: int) -> AttentionKernel:
    """Build the kernel that ``cfg['type']`` names; the other entries are its options.

    Raises:
        ValueError: If the type is missing or unknown.
        TypeError: If the kernel does not take one of the options.
    """
    options = dict(cfg)
    name = options.pop('type', None)
    if name not in KERNELS:
        raise ValueError(f"attention type must be one of {sorted(KERNELS)}, got {name!r} in {cfg}")
    return KERNELS[name](head_dim, **options)


__all__ = ['KERNELS', 'AttentionKernel', 'ReLULinear', 'ReleasedQuadraticTaylor', 'build_kernel']
