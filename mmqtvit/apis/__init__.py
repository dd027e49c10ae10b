"""What the tools call: train, test, predict and check a data set, for all toolboxes."""

from ..cfg.datasets import check_datasets
from ..cfg.device import adapt_to_device
from ..cfg.read import load_config
from ..errors import Interrupted, UserError, report_user_errors
from .runner import test, train

__all__ = [
    'Interrupted', 'UserError', 'adapt_to_device', 'check_datasets', 'load_config',
    'report_user_errors', 'test', 'train'
]
