"""EfficientViT, and the macro-architecture that QT-ViT shares with it."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Optional, Union

from mmengine.logging import print_log
from mmengine.model import BaseModule
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from ..checks import check_bool, check_integer, is_one_of
from ..execution import channels_last, is_channels_last, is_recorded, prefers_channels_last
from ..layers import (
    AttentionBlock,
    ConvNormAct,
    MultiScaleAttention,
    Residual,
    SkipAttention,
    SkippingBlock,
    SkippingStage,
)
from ..registry import register_model
from ..weights.initialise import initialise_pretrained
from .arch import (
    EFFICIENTVIT_ARCHS,
    NUM_STAGES,
    SERIES,
    drop_path_rates,
    resolve_arch,
    resolve_skipped,
)


@contextmanager
def kept_statistics(module: nn.Module) -> Iterator[None]:
    """Let batch norms normalise as in training, but leave their running statistics alone."""
    norms = [m for m in module.modules() if isinstance(m, _BatchNorm) and m.track_running_stats]
    kept = [(norm, norm.momentum, norm.num_batches_tracked.clone()) for norm in norms]
    for norm in norms:
        norm.momentum = 0.
    try:
        yield
    finally:
        for norm, momentum, num_batches in kept:
            norm.momentum = momentum
            norm.num_batches_tracked.copy_(num_batches)


@register_model
class EfficientViT(BaseModule):
    """EfficientViT: convolution stages, then stages of multi-scale linear attention.

    A PyTorch implementation of `EfficientViT: Multi-Scale Linear Attention for High-Resolution
    Dense Prediction <https://arxiv.org/abs/2205.14756>`_ (Cai et al., ICCV 2023).

    Takes images of any size; the map of stage i has ceil(side / 2^(i+1)) positions a side. A NaN
    in an image spreads over that image's maps in evaluation.

    Args:
        arch (str | dict): 'b0' to 'b3', 'l0' to 'l3', or a dict with ``series`` ('b' or 'l'),
            ``widths`` and ``depths`` (five numbers, the stem's first) and ``head_dim``. Defaults
            to 'b1'.
        in_channels (int): Channels of the images. Defaults to 3.
        out_indices (Sequence[int]): Stages to return, 0 to 3, at strides 4, 8, 16 and 32; stages
            after the last one are not built. Negative indices count from the end. Defaults to
            (0, 1, 2, 3).
        attention (dict): Attention kernel, see :func:`mmqtvit.attention.build_kernel`. Defaults to
            ``dict(type='ReLULinear')``.
        position_embedding (bool): Whether the keys get a learnable absolute positional embedding,
            made for 224×224 images and resized to others. Defaults to False.
        value_shortcut (bool): Whether GELU(BN(v)) is added to the kernel's output. Defaults to
            False.
        skip_attention (dict, optional): Attention blocks that reuse the attention of the block
            before, through :class:`mmqtvit.layers.SkipAttention`, as
            ``dict(stage3=[1], stage4=[2, 3])``: indices among the stage's attention blocks, the
            first of which is never skipped. Defaults to None.
        frozen_stages (int): Stages to freeze: -1 none, 0 the stem, i the stem and stages 1 to i.
            Defaults to -1.
        norm_cfg (dict): Norm layers, those in the attention included. Without an ``eps``, batch
            norms get the published one, 1e-5 (B) or 1e-7 (L). Defaults to ``dict(type='BN')``.
        norm_eval (bool): Whether batch norms stay in evaluation mode in training. Defaults to
            False.
        drop_path_rate (float): Stochastic depth of the last residual branch; the others' grow
            linearly with depth. The published training ramps all rates up over time, this does
            not. Defaults to 0.
        num_undropped (int): Number of first residual branches without stochastic depth; the
            published training has 2 for l1, 3 for l2 and l3. Defaults to 0.
        with_cp (bool): Whether to recompute the stages in the backward pass, for less memory.
            Defaults to False.
        init_cfg (dict | list[dict], optional): Defaults to None, the published initialisation.

    Raises:
        ValueError: If an argument is out of range; the message names the choices.

    Example:
        >>> import torch
        >>> from mmqtvit import EfficientViT
        >>> model = EfficientViT('b1').eval()
        >>> [tuple(level.shape) for level in model(torch.rand(1, 3, 224, 320))]
        [(1, 32, 56, 80), (1, 64, 28, 40), (1, 128, 14, 20), (1, 256, 7, 10)]
    """

    ARCHS = EFFICIENTVIT_ARCHS

    def __init__(self,
                 arch: Union[str, dict] = 'b1',
                 in_channels: int = 3,
                 out_indices: Sequence[int] = (0, 1, 2, 3),
                 attention: dict = dict(type='ReLULinear'),
                 position_embedding: bool = False,
                 value_shortcut: bool = False,
                 skip_attention: Optional[dict] = None,
                 frozen_stages: int = -1,
                 norm_cfg: dict = dict(type='BN'),
                 norm_eval: bool = False,
                 drop_path_rate: float = 0.,
                 num_undropped: int = 0,
                 with_cp: bool = False,
                 init_cfg: Optional[Union[dict, list]] = None) -> None:
        if init_cfg is None:
            init_cfg = [dict(type='TruncNormal', layer=['Conv2d', 'Linear'], std=0.02, bias=0.)]
        super().__init__(init_cfg)
        arch = resolve_arch(arch, self.ARCHS)
        check_integer('in_channels', in_channels, 1)
        check_integer('frozen_stages', frozen_stages, -1, NUM_STAGES)
        for name, switch in dict(position_embedding=position_embedding, norm_eval=norm_eval,
                                 value_shortcut=value_shortcut, with_cp=with_cp).items():
            check_bool(name, switch)
        self.in_channels = in_channels
        self.out_indices = self._check_out_indices(out_indices)
        self.widths = tuple(arch['widths'])
        self.frozen_stages = frozen_stages
        self.norm_eval = norm_eval
        self.with_cp = with_cp

        self.series = arch['series']
        self._series = SERIES[self.series]
        self._norm_cfg = dict(norm_cfg)
        if self._norm_cfg.get('type') in ('BN', 'SyncBN'):
            self._norm_cfg.setdefault('eps', self._series.eps)
        num_stages = max(self.out_indices) + 1
        rates = drop_path_rates(arch, drop_path_rate, num_undropped)
        skipped = resolve_skipped(skip_attention, arch, num_stages)
        self.stem = self._build_stem(rates[0])
        self.stages = nn.ModuleList(
            self._build_stage(
                index,
                arch['depths'][1 + index],
                rates[1 + index],
                skipped[index],
                head_dim=arch['head_dim'],
                attention=attention,
                # The embedding is made for the map of a 224×224 image.
                native_size=224 // self.stride(index) if position_embedding else None,
                value_shortcut=value_shortcut) for index in range(num_stages))
        self._freeze_stages()

    @staticmethod
    def _check_out_indices(out_indices: Sequence[int]) -> tuple[int, ...]:
        indices = (out_indices, ) if isinstance(out_indices, int) else tuple(out_indices)
        if not indices or not all(
                is_one_of(index, range(-NUM_STAGES, NUM_STAGES)) for index in indices):
            raise ValueError(
                f'out_indices must be some of 0 to {NUM_STAGES - 1}, got {out_indices}')
        return tuple(index % NUM_STAGES for index in indices)

    @staticmethod
    def stride(index: int) -> int:
        """Stride of the map of a stage, in pixels; the first stage is 0."""
        return 4 * 2**index

    @property
    def out_channels(self) -> tuple[int, ...]:
        """tuple[int]: Channels of the returned maps."""
        return tuple(self.widths[1 + index] for index in self.out_indices)

    @property
    def out_strides(self) -> tuple[int, ...]:
        """tuple[int]: Strides of the returned maps, in pixels."""
        return tuple(self.stride(index) for index in self.out_indices)

    def _build_stem(self, rates: list) -> nn.Sequential:
        width = self.widths[0]
        common = dict(act=self._series.act, norm_cfg=self._norm_cfg)
        return nn.Sequential(
            ConvNormAct(self.in_channels, width, 3, 2, **common),
            *(Residual(self._series.stem_block(width, width, **common), rate) for rate in rates))

    def _build_stage(self, index: int, depth: int, rates: list, skipped: frozenset,
                     **attention_cfg) -> nn.Sequential:
        layout = self._series.stages[index]
        width = self.widths[1 + index]
        common = dict(act=self._series.act, norm_cfg=self._norm_cfg)
        blocks = [
            layout.conv(
                self.widths[index], width, stride=2, expand=layout.downsample_expand, **common)
        ]
        for block in range(layout.num_blocks(depth)):
            conv = layout.conv(width, width, expand=layout.expand, **common)
            if layout.attention:
                context = SkipAttention(width) if block in skipped else MultiScaleAttention(
                    width, norm_cfg=self._norm_cfg, **attention_cfg)
                attention_block = SkippingBlock if skipped else AttentionBlock
                blocks.append(attention_block(context, conv, rates[2 * block:2 * block + 2]))
            else:
                blocks.append(Residual(conv, rates[block]))
        return SkippingStage(*blocks) if skipped else nn.Sequential(*blocks)

    def init_weights(self) -> None:
        """Initialise or load the weights, and warn of a part that is frozen at random."""
        if initialise_pretrained(self):
            self._is_init = True
            return
        super().init_weights()
        for module in self.modules():
            if isinstance(module, Residual):
                module.start_as_identity()
        if self.frozen_stages >= 0:
            print_log(
                f'{type(self).__name__} freezes the stem and {self.frozen_stages} stages, but its '
                "init_cfg names no pretrained weights: unless they are loaded in another way, "
                'these parts stay random. Set '
                "init_cfg=dict(type='Pretrained', checkpoint=...) or frozen_stages=-1.",
                logger='current',
                level=logging.WARNING)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Compute the feature maps of images.

        Args:
            x (Tensor): (B, in_channels, H, W).

        Returns:
            tuple[Tensor]: One map (B, C_i, ceil(H / s_i), ceil(W / s_i)) for each of
            ``out_indices``, with C_i in ``out_channels`` and s_i in ``out_strides``. They lie in
            memory in the order of the images, whatever order is computed in.

        Raises:
            ValueError: If the images have another number of channels.
        """
        # A graph that is being recorded holds no conditions on its input.
        if not is_recorded(x) and (x.dim() != 4 or x.shape[1] != self.in_channels):
            raise ValueError(
                f'{type(self).__name__} expects images of shape (B, {self.in_channels}, H, W), '
                f'got {tuple(x.shape)}')
        if not prefers_channels_last(x) or is_channels_last(x):
            return self._compute(x)
        # Heads may view maps as tokens, so they come in the order of the images.
        return tuple(level.contiguous() for level in self._compute(channels_last(x)))

    def _compute(self, x: Tensor) -> tuple[Tensor, ...]:
        x = self.stem(x)
        maps = []
        for stage in self.stages:
            x = self._run_stage(stage, x)
            maps.append(x)
        return tuple(maps[index] for index in self.out_indices)

    def _run_stage(self, stage: nn.Sequential, x: Tensor) -> Tensor:
        if not (self.with_cp and self.training):
            return stage(x)
        # Recomputing must not count the batch twice in the running statistics.
        return checkpoint(
            stage,
            x,
            use_reentrant=False,
            context_fn=lambda: (nullcontext(), kept_statistics(stage)))

    def _freeze_stages(self) -> None:
        if self.frozen_stages < 0:
            return
        for module in (self.stem, *self.stages[:self.frozen_stages]):
            module.eval()
            module.requires_grad_(False)

    def train(self, mode: bool = True) -> 'EfficientViT':
        """Set the mode; frozen stages stay in evaluation mode, and batch norms if norm_eval."""
        super().train(mode)
        self._freeze_stages()
        if mode and self.norm_eval:
            for module in self.modules():
                if isinstance(module, _BatchNorm):
                    module.eval()
        return self

    def get_layer_depth(self, param_name: str, prefix: str = '') -> tuple[int, int]:
        """Tell how deep a parameter lies, for layer-wise learning-rate decay.

        The stem is layer 0 and every block of a stage one layer more.

        Args:
            param_name (str): Name of the parameter.
            prefix (str): What precedes the backbone's own names. Defaults to ''.

        Returns:
            tuple[int, int]: The layer, and the number of layers, which includes one for what
            comes after the backbone.
        """
        num_layers = 2 + sum(len(stage) for stage in self.stages)
        name = param_name[len(prefix):] if param_name.startswith(prefix) else ''
        kind, *numbers = name.split('.')[:3]
        if kind == 'stem':
            return 0, num_layers
        if kind != 'stages':
            return num_layers - 1, num_layers
        stage, block = int(numbers[0]), int(numbers[1])
        before = sum(len(blocks) for blocks in self.stages[:stage])
        return 1 + before + block, num_layers
