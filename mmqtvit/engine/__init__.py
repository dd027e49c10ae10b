"""What ``tools/train.py`` and ``tools/test.py`` do, for all three toolboxes."""

from .checkpoint import read_checkpoint
from .config import load_config
from .datasets import check_datasets
from .device import adapt_to_device
from .errors import Interrupted, UserError, report_user_errors
from .runner import test, train
from .safe_load import allow_openmmlab_checkpoints

__all__ = [
    'Interrupted', 'UserError', 'adapt_to_device', 'allow_openmmlab_checkpoints',
    'check_datasets', 'load_config', 'read_checkpoint', 'report_user_errors', 'test', 'train'
]
