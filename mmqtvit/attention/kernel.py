"""What every attention kernel is to its caller, and the registry of kernels."""

from abc import ABC, abstractmethod
from typing import Any, Optional

import torch
from torch import Tensor, nn

from ..execution import full_precision, is_recorded

#: The kernels by name.
KERNELS = {}


def register_kernel(cls: type) -> type:
    """Make a kernel known as the ``type`` of a config's ``attention``, by its class name."""
    KERNELS[cls.__name__] = cls
    return cls


def saturate(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Clamp to the finite range of ``dtype``."""
    limits = torch.finfo(dtype)
    return x.clamp(limits.min, limits.max)


def saturating_sum(a: Tensor, b: Tensor) -> Tensor:
    """Add up; what float16 cannot hold becomes its largest number."""
    total = a + b
    return saturate(total, total.dtype) if total.dtype is torch.float16 else total


class _SaturatedGradient(torch.autograd.Function):
    """The identity, with a gradient that float16 can hold."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return saturate(grad, torch.float16)


def wide_dtype(x: Tensor) -> torch.dtype:
    """The dtype of a kernel's arithmetic on ``x``: float32, or float64 when given that."""
    return torch.promote_types(x.dtype, torch.float32)


def widen(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert to ``dtype``; what float16 cannot hold of a gradient becomes its largest number."""
    wide = x.to(dtype)
    # What is recorded cannot hold Python functions.
    if x.dtype is torch.float16 and wide.requires_grad and not is_recorded(x):
        return _SaturatedGradient.apply(wide)
    return wide


def parameter_dtype(module: nn.Module) -> torch.dtype:
    """The dtype that a module computes in."""
    return next(module.parameters()).dtype


class AttentionKernel(nn.Module, ABC):
    """Attention within groups of channels, over channel-first tokens.

    Subclasses write :meth:`attend`; this class keeps their arithmetic in float32 (or float64 when
    given that), whatever the input's dtype and the state of autocast. Where weights may be
    negative or :meth:`additions` come in, results that float16 cannot hold become its largest
    number; where weights may be negative, gradients too.

    Args:
        head_dim (int): Channels per group, d.
    """

    #: Since version 2 every parameter has at least one dimension, as FSDP asks for.
    _version = 2

    #: Whether all attention weights are non-negative, whatever the inputs and the parameters.
    non_negative: bool

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

    def input_branch(self, channels: int, value_channels: int, heads: int) -> Optional[nn.Module]:
        """Build what the layer around the kernel adds to its output from the layer's own input.

        Args:
            channels (int): Channels of the layer's input x, (B, C, H, W).
            value_channels (int): Channels of the values, G·d.
            heads (int): Heads of the layer, h = C // d.

        Returns:
            nn.Module, optional: Called as ``branch(x, v)``, returns the shape of ``v``. None, the
            default: nothing is added.
        """
        return None

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
        dtype = wide_dtype(v)
        with full_precision(v):
            inputs = [x.to(dtype) if self.non_negative else widen(x, dtype) for x in (q, k, v)]
            out = self.attend(*inputs, size)
            added = self.additions(*inputs, size)
            for extra in added:
                out = out + extra
            if v.dtype is torch.float16 and (added or not self.non_negative):
                out = saturate(out, v.dtype)
        return out.to(v.dtype)

    def _load_from_state_dict(self, state_dict: dict, prefix: str, *args) -> None:
        for name, parameter in self.named_parameters(prefix.rstrip('.'), recurse=False):
            stored = state_dict.get(name)
            # Version 1 and the published files have scalars without dimensions.
            if parameter.dim() == 1 and stored is not None and stored.dim() == 0:
                state_dict[name] = stored.reshape(1)
        super()._load_from_state_dict(state_dict, prefix, *args)
