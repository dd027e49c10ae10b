"""The blocks that the backbones are made of."""

from .blocks import AttentionBlock, DSConv, FusedMBConv, MBConv, ResBlock, Residual
from .conv import ConvNormAct
from .multi_scale_attention import MultiScaleAttention
from .norm import build_norm
from .position_embedding import PositionEmbedding
from .skip_attention import SkipAttention, SkippingBlock, SkippingStage

__all__ = [
    'AttentionBlock', 'ConvNormAct', 'DSConv', 'FusedMBConv', 'MBConv', 'MultiScaleAttention',
    'PositionEmbedding', 'ResBlock', 'Residual', 'SkipAttention', 'SkippingBlock', 'SkippingStage',
    'build_norm'
]
