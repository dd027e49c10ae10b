"""The machine that is measured."""

import os
import platform
from pathlib import Path

import torch


def conditions(device: torch.device) -> dict:
    """What a time or a memory figure depends on besides the program.

    Args:
        device (torch.device): Where it is measured.

    Returns:
        dict: Names of device, processor and operating system, threads, PyTorch's version, and how
        busy the machine is (processes ready to run, a mean over the last minute).
    """
    return dict(
        device=_device_name(device),
        processor=_processor(),
        system=platform.platform(terse=True),
        torch=torch.__version__,
        threads=torch.get_num_threads(),
        load=round(os.getloadavg()[0], 2) if hasattr(os, 'getloadavg') else None)


def _device_name(device: torch.device) -> str:
    backend = getattr(torch, device.type)
    if not hasattr(backend, 'get_device_name'):
        return device.type
    return f'{device} ({backend.get_device_name(device)})'


def _processor() -> str:
    information = Path('/proc/cpuinfo')
    lines = information.read_text().splitlines() if information.is_file() else []
    names = [line.split(':', 1)[1].strip() for line in lines if line.startswith('model name')]
    return names[0] if names else platform.processor() or platform.machine()
