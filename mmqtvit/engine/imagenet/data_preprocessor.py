"""Training batches of changing resolution."""

import random
from collections.abc import Sequence

import torch.nn.functional as F
from mmengine.dist import sync_random_seed
from mmpretrain.models import ClsDataPreprocessor
from mmpretrain.registry import MODELS


@MODELS.register_module()
class MultiResolutionDataPreprocessor(ClsDataPreprocessor):
    """Resizes every training batch to a size drawn at random, the same on all processes.

    EfficientViT's and QT-ViT's training crops each batch at 128, 160, 192 or 224 pixels. Here the
    loader crops at the largest size, and the batch, mixed or not, is scaled down from there. In
    evaluation nothing is resized.

    Args:
        sizes (Sequence[int]): Sides of the square batches, in pixels.
        **kwargs: The arguments of :class:`mmpretrain.models.ClsDataPreprocessor`.

    Raises:
        ValueError: If there is no size, or one that is not positive.
    """

    def __init__(self, sizes: Sequence[int], **kwargs) -> None:
        super().__init__(**kwargs)
        if not sizes or min(sizes) < 1:
            raise ValueError(f'sizes must be positive numbers of pixels, got {sizes}')
        self.sizes = tuple(sizes)
        self._random = random.Random(sync_random_seed())

    def forward(self, data: dict, training: bool = False) -> dict:
        """Prepare a batch.

        Args:
            data (dict): From the loader, ``inputs`` of shape (B, 3, H, W).
            training (bool): Whether to mix and to resize. Defaults to False.

        Returns:
            dict: The same, ``inputs`` of shape (B, 3, S, S) in training, S one of ``sizes``.
        """
        data = super().forward(data, training)
        if training:
            size = self._random.choice(self.sizes)
            if data['inputs'].shape[-2:] != (size, size):
                data['inputs'] = F.interpolate(
                    data['inputs'], (size, size), mode='bicubic', antialias=True)
        return data
