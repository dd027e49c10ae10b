"""What ``tools/check_dataset.py`` does: reads a config's images and labels before training does."""

from .examine import examine
from .findings import Examination, Finding
from .report import print_report

__all__ = ['Examination', 'Finding', 'examine', 'print_report']
