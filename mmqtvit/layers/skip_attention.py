"""Skip-Attention: the attention of one block, reused by the next."""

from typing import Optional

from torch import Tensor, nn

from .blocks import AttentionBlock, Residual
from .conv import ConvNormAct


class ChannelGate(nn.Conv1d):
    """Efficient channel attention (Wang et al., CVPR 2020).

    A convolution of size 3 over the channels' means gives each channel a factor between 0 and 1.
    """

    def __init__(self) -> None:
        super().__init__(1, 1, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C, H, W) to (B, C, H, W)."""
        means = x.mean((2, 3)).unsqueeze(1)  # (B, 1, C)
        return x * super().forward(means).sigmoid().view(*x.shape[:2], 1, 1)


class SkipAttention(nn.Sequential):
    """What stands in for attention in a skipped block (Venkataramanan et al., ICLR 2024).

    The paper's Φ: a linear layer to twice the channels, GELU, a depthwise 5×5 convolution, GELU, a
    linear layer back, and :class:`ChannelGate`. Its input is the previous block's attention output.
    For each position it has 4·C² + 50·C multiply-adds, in QT-ViT-1 0.68 (stage 3) and 0.73 (stage
    4) of those of the linear attention that it replaces, so little time is saved.

    Args:
        channels (int): Input and output channels, C.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        width = 2 * channels
        self.expand = ConvNormAct(channels, width, bias=True, act=nn.GELU)
        self.depth = ConvNormAct(width, width, 5, groups=width, bias=True, act=nn.GELU)
        self.project = ConvNormAct(width, channels, bias=True)
        self.gate = ChannelGate()


class ContextResidual(Residual):
    """A residual connection that also hands on what its branch gave."""

    def forward(self, x: Tensor, context: Optional[Tensor] = None) -> tuple[Tensor, Tensor]:
        """Map (B, C, H, W) to the sum and to what the branch gave, before stochastic depth.

        Args:
            x (Tensor): (B, C, H, W).
            context (Tensor, optional): The branch's input, of the same shape. Defaults to None,
                which is ``x``.
        """
        context = self.branch(x if context is None else context)
        return self.drop(context) + x, context


class SkippingBlock(AttentionBlock):
    """An attention block of a stage in which some have :class:`SkipAttention` for attention."""

    residual = ContextResidual

    def forward(self, x: Tensor, context: Optional[Tensor] = None) -> tuple[Tensor, Tensor]:
        """Map (B, C, H, W), and the context of the block before, to the same of this block."""
        skipped = isinstance(self.attention.branch, SkipAttention)
        x, context = self.attention(x, context if skipped else None)
        return self.local(x), context


class SkippingStage(nn.Sequential):
    """A stage of which some attention blocks have a :class:`SkipAttention` in place of attention.

    Its input is what the attention of the block before gave, before that block's stochastic depth
    and residual connection; a skipped block after a skipped one continues the chain.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C_in, H, W) to the stage's map."""
        context = None
        for block in self:
            if isinstance(block, SkippingBlock):
                x, context = block(x, context)
            else:
                x = block(x)
        return x
