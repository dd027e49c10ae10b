"""What every attention kernel is to its caller."""

from abc import ABC, abstractmethod
from typing import Optional

import torch
from torch import Tensor, nn


def saturate(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Clamp to the finite range of ``dtype``."""
    limits = torch.finfo(dtype)
    return x.clamp(limits.min, limits.max)


class AttentionKernel(nn.Module, ABC):
    """Attention within groups of channels, over channel-first tokens.

    Subclasses write :meth:`attend`; this class keeps their arithmetic in float32 (or float64 when
    given that), whatever the input's dtype and the state of autocast. Where weights may be
    negative, results that float16 cannot hold, and gradients likewise, become its largest number.

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
            inputs = [self._widen(x, dtype) for x in (q, k, v)]
            out = self.attend(*inputs, size)
            if self.training and self.softmax_residual is not None:
                out = out + self.softmax_residual(*inputs)
            if v.dtype is torch.float16 and not self.non_negative:
                out = saturate(out, v.dtype)
        return out.to(v.dtype)

    def _widen(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        wide = x.to(dtype)
        if x.dtype is torch.float16 and not self.non_negative and wide.requires_grad:
            wide.register_hook(lambda grad: saturate(grad, torch.float16))
        return wide


def check_divides(name: str, value: int, head_dim: int) -> int:
    """Return ``value`` if it is an integer that divides the channels of a group.

    Args:
        name (str): Name of the option, for the message.
        value (int): What was given.
        head_dim (int): Channels per group, d.

    Raises:
        ValueError: If not; the message has the choices.
    """
    choices = [number for number in range(1, head_dim + 1) if head_dim % number == 0]
    if isinstance(value, bool) or not isinstance(value, int) or value not in choices:
        raise ValueError(f'{name} must divide the {head_dim} channels of a group: '
                         f'one of {choices}, got {value!r}')
    return value
