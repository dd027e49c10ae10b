"""What training and evaluating on ImageNet needs and mmpretrain lacks.

A config names it with ``custom_imports = dict(imports=['mmqtvit.engine.imagenet'])``; importing
it loads mmpretrain, in whose registries the classes are.
"""

from .data_preprocessor import MultiResolutionDataPreprocessor
from .imagenet_v2 import ImageNetV2
from .precise_bn import AveragedPreciseBNHook
from .real_accuracy import ReaLAccuracy

__all__ = [
    'AveragedPreciseBNHook', 'ImageNetV2', 'MultiResolutionDataPreprocessor', 'ReaLAccuracy'
]
