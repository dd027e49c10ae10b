"""Skip-Attention: the attention of one block, reused by the next."""

from torch import Tensor, nn

from .blocks import AttentionBlock
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


class SkippingStage(nn.Sequential):
    """A stage some of whose attention blocks have a :class:`SkipAttention` in place of attention.

    Its input is what the attention of the block before gave, before that block's stochastic depth
    and residual connection; a skipped block after a skipped one continues the chain.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C_in, H, W) to the stage's map."""
        context = None
        for block in self:
            if not isinstance(block, AttentionBlock):
                x = block(x)
                continue
            branch = block.attention.branch
            context = branch(context if isinstance(branch, SkipAttention) else x)
            x = block.local(x + block.attention.drop(context))
        return x
