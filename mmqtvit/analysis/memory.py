"""Memory that a call takes."""

import gc
import os
from collections.abc import Callable, Iterable
from typing import Optional

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.profiler import ProfilerActivity, profile


def peak_memory(call: Callable, device: torch.device) -> Optional[int]:
    """Run a call and tell how far the memory of its tensors rose above where it started.

    On a CPU PyTorch's profiler notes each allocation and release, those inside operators included;
    what libraries such as oneDNN allocate on their own is not seen. An accelerator's allocator
    keeps the peak itself.

    Args:
        call (Callable): Without arguments.
        device (torch.device): Where it computes.

    Returns:
        int | None: Bytes; None on a device that does not count.
    """
    gc.collect()
    if device.type != 'cpu':
        return _peak_of_accelerator(call, getattr(torch, device.type))
    # The profiler's library looks for a GPU first, and complains where there is none.
    os.environ.setdefault('KINETO_LOG_LEVEL', '5')
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        call()
    changes = [(event.start_ns(), event.nbytes())
               for event in record.profiler.kineto_results.events() if event.name() == '[memory]']
    used = peak = 0
    for _, change in sorted(changes, key=lambda change: change[0]):
        used += change
        peak = max(peak, used)
    return peak


def _peak_of_accelerator(call: Callable, backend: object) -> Optional[int]:
    if not hasattr(backend, 'reset_peak_memory_stats'):
        return None
    backend.synchronize()
    backend.reset_peak_memory_stats()
    before = backend.memory_allocated()
    call()
    backend.synchronize()
    return backend.max_memory_allocated() - before


def kept_for_backward(forward: Callable[[], Tensor], existing: Iterable[Tensor]) -> int:
    """Tell how much memory a forward pass keeps until its backward pass.

    Args:
        forward (Callable): Without arguments, with gradients.
        existing (Iterable[Tensor]): What is there anyway, such as parameters and inputs.

    Returns:
        int: Bytes; memory that several tensors share counts once.
    """
    there = {tensor.untyped_storage().data_ptr() for tensor in existing}
    kept = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # the output of a node must not keep the node alive

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        out = forward()
    bytes_kept = sum(size for pointer, size in kept.items() if pointer not in there)
    del out  # until here it held what was kept, so no two had the same address
    return bytes_kept
