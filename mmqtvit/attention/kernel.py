"""What every attention kernel is to its caller."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class AttentionKernel(nn.Module, ABC):
    """Attention within groups of channels, over channel-first tokens.

    Subclasses write :meth:`attend`; this class keeps their arithmetic in float32 (or float64 when
    given that), whatever the input's dtype and the state of autocast.

    Args:
        head_dim (int): Channels per group, d.
    """

    #: Whether all attention weights are non-negative.
    non_negative: bool

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        self.head_dim = head_dim

    @property
    @abstractmethod
    def feature_length(self) -> int:
        """int: Length f of the feature map φ, constants left out."""

    @abstractmethod
    def macs(self, num_groups: int, num_tokens: int) -> int:
        """Count the multiply-adds of the matrix products for one image.

        Args:
            num_groups (int): Number of groups, G.
            num_tokens (int): Number of tokens, N.
        """

    @abstractmethod
    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        """Compute the attention; arguments as :meth:`forward`, all in one dtype ≥ float32."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        """Attend from every query to all keys of its group.

        Args:
            q (Tensor): Queries, (B, G, d, N).
            k (Tensor): Keys, (B, G, d, N).
            v (Tensor): Values, (B, G, d, N).
            size (tuple[int, int]): (H, W) of the map, H·W = N.

        Returns:
            Tensor: (B, G, d, N) in the dtype of ``v``.
        """
        dtype = torch.promote_types(v.dtype, torch.float32)
        with torch.autocast(device_type=v.device.type, enabled=False):
            out = self.attend(q.to(dtype), k.to(dtype), v.to(dtype), size)
        return out.to(v.dtype)
