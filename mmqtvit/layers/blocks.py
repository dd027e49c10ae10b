"""Convolution blocks, residual connections and the attention block."""

from typing import Callable

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from .conv import ConvNormAct


class DSConv(nn.Sequential):
    """Depthwise 3×3 and pointwise convolution, both with a norm.

    Args:
        in_channels (int): Input channels.
        out_channels (int): Output channels.
        act (type): Class of the activation between them.
        norm_cfg (dict): Norm layers.
        stride (int): Defaults to 1.
    """

    def __init__(self,
                 in_channels: int,
                 out_channels: int,
                 act: Callable,
                 norm_cfg: dict,
                 stride: int = 1) -> None:
        super().__init__()
        self.depth = ConvNormAct(
            in_channels, in_channels, 3, stride, groups=in_channels, norm_cfg=norm_cfg, act=act)
        self.point = ConvNormAct(in_channels, out_channels, norm_cfg=norm_cfg)


class MBConv(nn.Sequential):
    """Inverted bottleneck: expansion, depthwise 3×3, projection.

    Args:
        in_channels (int): Input channels.
        out_channels (int): Output channels.
        act (type): Class of the first two activations.
        norm_cfg (dict): Norm layers.
        stride (int): Defaults to 1.
        expand (float): Expansion ratio. Defaults to 4.
        fewer_norms (bool): Whether the first two convolutions have a bias in place of a norm.
            Defaults to False.
    """

    def __init__(self,
                 in_channels: int,
                 out_channels: int,
                 act: Callable,
                 norm_cfg: dict,
                 stride: int = 1,
                 expand: float = 4,
                 fewer_norms: bool = False) -> None:
        super().__init__()
        width = round(in_channels * expand)
        inner = dict(bias=True) if fewer_norms else dict(norm_cfg=norm_cfg)
        self.inverted = ConvNormAct(in_channels, width, act=act, **inner)
        self.depth = ConvNormAct(width, width, 3, stride, groups=width, act=act, **inner)
        self.point = ConvNormAct(width, out_channels, norm_cfg=norm_cfg)


class FusedMBConv(nn.Sequential):
    """Inverted bottleneck with a full 3×3 convolution in place of the first two.

    Args:
        in_channels (int): Input channels.
        out_channels (int): Output channels.
        act (type): Class of the activation between them.
        norm_cfg (dict): Norm layers.
        stride (int): Defaults to 1.
        expand (float): Expansion ratio. Defaults to 4.
    """

    def __init__(self,
                 in_channels: int,
                 out_channels: int,
                 act: Callable,
                 norm_cfg: dict,
                 stride: int = 1,
                 expand: float = 4) -> None:
        super().__init__()
        width = round(in_channels * expand)
        self.spatial = ConvNormAct(in_channels, width, 3, stride, norm_cfg=norm_cfg, act=act)
        self.point = ConvNormAct(width, out_channels, norm_cfg=norm_cfg)


class ResBlock(nn.Sequential):
    """Two 3×3 convolutions with norms.

    Args:
        in_channels (int): Input channels.
        out_channels (int): Output channels.
        act (type): Class of the activation between them.
        norm_cfg (dict): Norm layers.
    """

    def __init__(self, in_channels: int, out_channels: int, act: Callable, norm_cfg: dict) -> None:
        super().__init__()
        self.conv1 = ConvNormAct(in_channels, out_channels, 3, norm_cfg=norm_cfg, act=act)
        self.conv2 = ConvNormAct(out_channels, out_channels, 3, norm_cfg=norm_cfg)


class Residual(nn.Module):
    """x + branch(x), the branch dropped for some images in training (stochastic depth).

    Args:
        branch (nn.Module): Keeps the shape; ends in a norm.
        drop_path_rate (float): Probability of dropping the branch for an image; what is kept is
            scaled up by 1 / (1 - rate). Defaults to 0.
    """

    def __init__(self, branch: nn.Module, drop_path_rate: float = 0.) -> None:
        super().__init__()
        self.branch = branch
        self.drop_path_rate = drop_path_rate

    def start_as_identity(self) -> None:
        """Set the weight of the branch's last norm to 0, so that the branch adds nothing."""
        norms = [m for m in self.branch.modules() if isinstance(m, (_BatchNorm, nn.GroupNorm))]
        if norms:
            nn.init.zeros_(norms[-1].weight)

    def drop(self, out: Tensor) -> Tensor:
        """Drop what the branch gave, (B, C, H, W), for some images in training."""
        if not self.training or self.drop_path_rate == 0:
            return out
        keep = 1 - self.drop_path_rate
        return out * out.new_empty(out.shape[0], 1, 1, 1).bernoulli_(keep).div_(keep)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C, H, W) to (B, C, H, W)."""
        return self.drop(self.branch(x)) + x


class AttentionBlock(nn.Sequential):
    """Global context by attention, then local detail by an inverted bottleneck.

    Args:
        attention (nn.Module): Context branch, attention or what stands in for it.
        local (MBConv): Local branch.
        drop_path_rates (tuple[float, float]): One rate for each branch. Defaults to (0, 0).
    """

    #: Class of the connection around the context branch.
    residual = Residual

    def __init__(self,
                 attention: nn.Module,
                 local: MBConv,
                 drop_path_rates: tuple[float, float] = (0., 0.)) -> None:
        super().__init__()
        self.attention = self.residual(attention, drop_path_rates[0])
        self.local = Residual(local, drop_path_rates[1])
