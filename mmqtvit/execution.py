"""How the code is being run: recorded or computed, on which device, in which order of memory.

Only this file asks. Code that is being recorded or transformed must be the plain function of its
inputs, for all sizes; code that is being computed may choose the order of its work.
"""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from torch.nn.modules import module as hooks_of_all
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

#: Whether this PyTorch has the convolutions that are fastest with the channels last on a CPU.
HAS_ONEDNN = torch.backends.mkldnn.is_available()


def is_compiling() -> bool:
    """Whether ``torch.compile`` or ``torch.export`` is reading this code."""
    # PyTorch 2.1 has no public way to ask.
    return hasattr(torch.compiler, 'is_compiling') and torch.compiler.is_compiling()


def becomes_a_graph() -> bool:
    """Whether a compiler, a trace or an export makes this run a graph for other sizes too."""
    # First, since a compiler cannot read the rest.
    if is_compiling() or torch.jit.is_tracing():
        return True
    modes = _get_current_dispatch_mode_stack()
    return any(isinstance(mode, ProxyTorchDispatchMode) for mode in modes)


def is_recorded(*tensors: Tensor) -> bool:
    """Whether something other than plain evaluation or autograd follows the operators.

    What makes a graph, FX, ``torch.func``, forward-mode differentiation, a dispatch mode such as
    ``FlopCounterMode`` or ``FakeTensorMode``, the device ``meta``, or a subclass of tensor.

    Args:
        *tensors (Tensor): The inputs of the code that asks.
    """
    if is_compiling() or torch.jit.is_tracing() or _get_current_dispatch_mode_stack():
        return True
    if forward_ad._current_level >= 0 or torch._C._functorch.peek_interpreter_stack() is not None:
        return True
    for x in tensors:
        if type(x) not in (Tensor, nn.Parameter) or x.is_meta:
            return True
        if torch._C._functorch.is_legacy_batchedtensor(x):
            return True
    return False


def is_watched(module: nn.Module) -> bool:
    """Whether a hook gets, and may keep, the input or the output of ``module``."""
    return bool(module._forward_hooks or module._forward_pre_hooks
                or module._backward_hooks or module._backward_pre_hooks
                or hooks_of_all._global_forward_hooks or hooks_of_all._global_forward_pre_hooks
                or hooks_of_all._global_backward_hooks
                or hooks_of_all._global_backward_pre_hooks)


def full_precision(x: Tensor) -> AbstractContextManager:
    """A context without autocast on the device of ``x``."""
    device = x.device.type
    # autocast refuses devices that have none, such as meta.
    return nullcontext() if device == 'meta' else torch.autocast(device, enabled=False)


def computes_in_cache(*tensors: Tensor) -> bool:
    """Whether cutting large tensors into slices saves time, as on a CPU that computes now."""
    return tensors[0].device.type == 'cpu' and not is_recorded(*tensors)


def prefers_channels_last(x: Tensor) -> bool:
    """Whether convolutions of maps like ``x`` are fastest with the channels last.

    oneDNN's on a CPU are: with the channels first they rearrange each map before and after. A
    graph that is being recorded keeps the order of its input, since compilers choose their own and
    ONNX has only one.
    """
    return (HAS_ONEDNN and x.device.type == 'cpu' and x.dtype is not torch.float64
            and not is_recorded(x))


def is_channels_last(x: Tensor) -> bool:
    """Whether the channels of each position lie side by side. Maps of one position are both."""
    return x.is_contiguous(memory_format=torch.channels_last)


def channels_last(x: Tensor) -> Tensor:
    """Lay out (B, C, H, W) with the channels last."""
    return x.contiguous(memory_format=torch.channels_last)


def has_channels_inside(x: Tensor) -> bool:
    """Whether tokens (B, G, d, N) are a view of a map with the channels last, on a CPU."""
    return prefers_channels_last(x) and x.stride(-1) != 1


def like_input(out: Tensor, x: Tensor) -> Tensor:
    """Lay out a map (B, C, H, W) in the order of the map ``x`` that it was computed from."""
    return channels_last(out) if prefers_channels_last(x) and is_channels_last(x) else out
