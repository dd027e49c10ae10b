"""Makes a config that was written for GPUs run on the machine at hand."""

import logging
from typing import Any

import torch.distributed as dist
from mmengine import Config
from mmengine.device import get_device
from mmengine.logging import print_log

from .errors import UserError


def _replace_sync_bn(node: Any) -> int:
    """Turn every SyncBN below ``node`` into BN, in place, and count them."""
    if isinstance(node, (list, tuple)):
        return sum(_replace_sync_bn(child) for child in node)
    if not isinstance(node, dict):
        return 0
    count = sum(_replace_sync_bn(child) for child in node.values())
    if node.get('type') in ('SyncBN', 'MMSyncBN'):
        node['type'] = 'BN'
        count += 1
    return count


def adapt_to_device(cfg: Config) -> None:
    """On a machine without an accelerator, change in ``cfg`` what cannot run there.

    SyncBN becomes BN, which is said in the log; distributed training goes over gloo.

    Raises:
        UserError: If the config asks for automatic mixed precision.
    """
    if get_device() != 'cpu':
        return
    if cfg.get('optim_wrapper', {}).get('type') == 'AmpOptimWrapper':
        raise UserError(
            "mixed precision (--amp, optim_wrapper.type='AmpOptimWrapper') needs a GPU, and this "
            'machine has none. Leave out --amp, or set '
            '--cfg-options optim_wrapper.type=OptimWrapper')
    count = _replace_sync_bn(cfg._cfg_dict)
    if count:
        print_log(f'No GPU: SyncBN became BN in {count} places of the config', 'current')
    if cfg.get('launcher', 'none') != 'none':
        _prepare_gloo(cfg)


def _prepare_gloo(cfg: Config) -> None:
    # mmengine's own initialisation selects a CUDA device first, whatever the backend.
    if not dist.is_initialized():
        if cfg.launcher != 'pytorch':
            raise UserError(f'without a GPU only --launcher pytorch works, got {cfg.launcher}')
        dist.init_process_group('gloo')
    cfg.setdefault(
        'model_wrapper_cfg',
        dict(
            type='MMDistributedDataParallel',
            broadcast_buffers=False,
            find_unused_parameters=cfg.get('find_unused_parameters', False)))
    print_log('No GPU: training is distributed over gloo', 'current', logging.INFO)
