"""Attention kernels in plain PyTorch; nothing here knows OpenMMLab.

A kernel maps q, k, v of shape (B, G, d, N) to (B, G, d, N); see :class:`AttentionKernel`, and
``README.md`` in this folder for the list and for how to add one.
"""

import inspect

from ..checks import check_choice, check_dict
from .angular import AngularLinear
from .cosine import CosineLinear, HydraAttention
from .elu import ELULinear
from .focused import FocusedLinear
from .inline import FirstOrderTaylor, InLineAttention
from .kernel import KERNELS, AttentionKernel, register_kernel
from .linear import LinearKernel
from .mean import MeanLinear
from .quadratic_taylor import CompactQuadraticTaylor, ExactQuadraticTaylor
from .reduced_taylor import ChunkQuadraticTaylor, PoolingQuadraticTaylor, RandomQuadraticTaylor
from .released import ReleasedQuadraticTaylor
from .relu import ReLULinear
from .sigmoid_softmax import SigmoidSoftmax
from .softmax import SoftmaxAttention, SoftmaxResidual


def build_kernel(cfg: dict, head_dim: int) -> AttentionKernel:
    """Build an attention kernel.

    Args:
        cfg (dict): ``type``, a name of ``KERNELS``, and the kernel's own options. A
            :class:`LinearKernel` also takes ``softmax_residual``, a dict with the options of
            :class:`SoftmaxResidual`, ``{}`` for none.
        head_dim (int): Channels per group, d.

    Raises:
        ValueError: If ``cfg`` is no dict, the type is missing or unknown, or an option is of
            another type or out of range.
        TypeError: If the kernel does not take one of the options.
    """
    options = dict(check_dict('attention', cfg, "dict(type='ReLULinear')"))
    name = check_choice('type of attention', options.pop('type', None), KERNELS)
    residual = options.pop('softmax_residual', None)
    if residual is not None and not issubclass(KERNELS[name], LinearKernel):
        raise ValueError(f'softmax_residual is for linear kernels, got {name!r} in {cfg}')
    kernel = _call(KERNELS[name], head_dim, **options)
    if residual is not None:
        check_dict('softmax_residual, unless None,', residual, 'dict(threshold=0.02)')
        kernel.softmax_residual = _call(SoftmaxResidual, **residual)
    return kernel


def _call(cls: type, *args, **options):
    known = list(inspect.signature(cls).parameters)[len(args):]
    for option in options:
        if option not in known:
            raise TypeError(f'{cls.__name__} has no option {option!r}; its options are {known}')
    return cls(*args, **options)


__all__ = [
    'KERNELS', 'AttentionKernel', 'LinearKernel', 'SoftmaxResidual', 'build_kernel',
    'register_kernel', *KERNELS
]
