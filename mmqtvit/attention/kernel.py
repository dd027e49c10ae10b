"""What every attention kernel is to its caller."""

from abc import ABC, abstractmethod
from typing import Any, Optional

import torch
from torch import Tensor, nn


def saturate(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Clamp to the finite range of ``dtype``."""
    limits = torch.finfo(dtype)
    return x.clamp(limits.min, limits.max)


class _SaturatedGradient(torch.autograd.Function):
    """The identity, with a gradient that float16 can hold."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return saturate(grad, torch.float16)


def widen(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert to ``dtype``; what float16 cannot hold of a gradient becomes its largest number."""
    wide = x.to(dtype)
    # A trace, which is for inference, holds no Python functions.
    if x.dtype is torch.float16 and wide.requires_grad and not torch.jit.is_tracing():
        return _SaturatedGradient.apply(wide)
    return wide


class AttentionKernel(nn.Module, ABC):
    """Attention within groups of channels, over channel-first tokens.

    Subclasses write :meth:`attend`; this class keeps their arithmetic in float32 (or float64 when
    given that), whatever the input's dtype and the state of autocast. Where weights may be
    negative or :meth:`additions` come in, results that float16 cannot hold become its largest
    number; where weights may be negative, gradients too.

    Args:
        head_dim (int): Channels per group, d.
    """

    #: Whether all attention weights are non-negative, whatever the inputs and the parameters.
    non_negative: bool
    #: Whether the layer around the kernel adds a local residual, see
    #: :class:`mmqtvit.layers.LocalResidual`.
    local_residual: bool = False

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        self.head_dim = head_dim
        self.softmax_residual: Optional[nn.Module] = None  # added to the output in training

    @property
    @abstractmethod
    def feature_length(self) -> Optional[int]:
        """int, optional: Length f of the feature map φ, constants left out; None: no finite one."""

    @abstractmethod
    def macs(self, num_groups: int, num_tokens: int) -> int:
        """Count the multiply-adds of matrix products and convolutions for one image.

        Args:
            num_groups (int): Number of groups, G.
            num_tokens (int): Number of tokens, N.
        """

    @abstractmethod
    def attend(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> Tensor:
        """Sum up the values with the weights of attention.

        Arguments as :meth:`forward`, q, k and v in one dtype ≥ float32.
        """

    def additions(self, q: Tensor, k: Tensor, v: Tensor, size: tuple[int, int]) -> list[Tensor]:
        """What the output has beside :meth:`attend`, for the same arguments: (B, G, d, N) each."""
        if self.training and self.softmax_residual is not None:
            return [self.softmax_residual(q, k, v)]
        return []

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
            inputs = [x.to(dtype) if self.non_negative else widen(x, dtype) for x in (q, k, v)]
            out = self.attend(*inputs, size)
            added = self.additions(*inputs, size)
            for extra in added:
                out = out + extra
            if v.dtype is torch.float16 and (added or not self.non_negative):
                out = saturate(out, v.dtype)
        return out.to(v.dtype)
