"""What stands between a backbone and a head."""

from .classifier_neck import ClassifierNeck

__all__ = ['ClassifierNeck']
