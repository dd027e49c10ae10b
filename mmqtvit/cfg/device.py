"""Makes a config that was written for GPUs run on the machine at hand."""

import os
from typing import Any, Optional

import torch
import torch.distributed as dist
from mmengine import Config
from mmengine.device import get_device

from ..errors import UserError
from .tree import type_name

SYNC_NORMS = ('SyncBN', 'MMSyncBN', 'SyncBatchNorm')


def adapt_to_device(cfg: Config, training: bool = True) -> list:
    """On a machine without a GPU, change in ``cfg`` what cannot run there.

    SyncBN becomes BN; distributed processes talk over gloo.

    Args:
        cfg (Config): Changed in place.
        training (bool): Whether the optimizer will be used. Defaults to True.

    Returns:
        list[str]: What was changed, a line each for the log.

    Raises:
        UserError: If the config asks for automatic mixed precision, or a launcher was named that
            did not start this process or that needs GPUs.
    """
    if cfg.launcher == 'pytorch' and 'RANK' not in os.environ:
        raise UserError('--launcher pytorch is for processes started by torchrun, as '
                        'tools/dist_train.sh and tools/dist_test.sh do')
    if get_device() not in ('cpu', 'mps'):
        return []
    if training and 'AmpOptimWrapper' in str(cfg.optim_wrapper.get('type')):
        raise UserError(
            "mixed precision (--amp, optim_wrapper.type='AmpOptimWrapper') needs a GPU, and this "
            'machine has none: operators of the toolboxes, such as RoIAlign, have no bfloat16 on '
            'a CPU. Leave out --amp, or set --cfg-options optim_wrapper.type=OptimWrapper')
    notes = []
    count = _replace_everywhere(cfg)
    if count:
        notes.append(f'No GPU: SyncBN became BN in {count} places of the config')
    if cfg.launcher != 'none':
        _prepare_gloo(cfg, equal_statistics=count > 0)
        notes.append('No GPU: the processes talk over gloo')
    return notes


def usable_device(name: Optional[str] = None) -> torch.device:
    """The device of a name such as 'cpu' or 'cuda:1'; None is for the best there is.

    Raises:
        UserError: If it cannot be used.
    """
    name = name or get_device()
    try:
        return torch.empty(0, device=name).device
    except (AssertionError, RuntimeError) as error:  # torch built without CUDA asserts
        reason = str(error).split('\n')[0]
        raise UserError(f'--device {name} cannot be used: {reason}') from error


def join_processes(cfg: Config) -> None:
    """Without a GPU, join the distributed processes before mmengine does.

    Its own way selects a CUDA device first, whatever the backend.
    """
    if cfg.launcher == 'pytorch' and get_device() == 'cpu' and not dist.is_initialized():
        dist.init_process_group('gloo')


def replace_sync_bn(node: Any) -> tuple:
    """Turn every SyncBN in a part of a config into BN.

    Args:
        node (Any): A dict, list, tuple or value. Dicts and lists are changed in place.

    Returns:
        tuple[Any, int]: The part, and how many were turned.
    """
    if isinstance(node, tuple):
        pairs = [replace_sync_bn(child) for child in node]
        return tuple(child for child, _ in pairs), sum(count for _, count in pairs)
    count = 0
    if isinstance(node, (dict, list)):
        for key, child in list(node.items() if isinstance(node, dict) else enumerate(node)):
            part, replaced = replace_sync_bn(child)
            if replaced:  # else an object that a new-style config imports stays a name
                node[key] = part
            count += replaced
    if type_name(node) in SYNC_NORMS:
        node['type'] = 'BN'
        count += 1
    return node, count


def _replace_everywhere(cfg: Config) -> int:
    total = 0
    for key in list(cfg):
        part, count = replace_sync_bn(cfg[key])
        if count:
            cfg[key] = part
        total += count
    if cfg.get('sync_bn'):  # asks mmengine to turn BN into SyncBN
        cfg.sync_bn = None
    return total


def _prepare_gloo(cfg: Config, equal_statistics: bool) -> None:
    if cfg.launcher != 'pytorch':
        raise UserError(f'without a GPU only --launcher pytorch works, got {cfg.launcher}')
    cfg.merge_from_dict({'env_cfg.dist_cfg.backend': 'gloo'})
    defaults = dict(
        type='MMDistributedDataParallel',
        device_ids=None,  # mmengine would give the number of a GPU
        broadcast_buffers=False,
        find_unused_parameters=cfg.get('find_unused_parameters', False))
    cfg.model_wrapper_cfg = {**defaults, **(cfg.get('model_wrapper_cfg') or {})}
    if equal_statistics:  # on all processes, as SyncBN has them
        cfg.custom_hooks = [*(cfg.get('custom_hooks') or []), dict(type='SyncBuffersHook')]
