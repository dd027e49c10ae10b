"""What ``tools/train.py`` and ``tools/test.py`` do, for all three toolboxes."""

from ..errors import UserError
from .config import load_config
from .datasets import check_datasets
from .device import adapt_to_device
from .errors import Interrupted, report_user_errors
from .runner import test, train

__all__ = [
    'Interrupted', 'UserError', 'adapt_to_device', 'check_datasets', 'load_config',
    'report_user_errors', 'test', 'train'
]
