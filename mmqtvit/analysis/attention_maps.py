"""Maps of the attention that one pixel pays to all others, by kernel."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Optional

import cv2
import numpy as np
import torch
from matplotlib.ticker import MaxNLocator
from torch import Tensor, nn
from tqdm import tqdm

from ..attention import KERNELS
from ..backbones import EfficientViT
from ..backbones.zoo import IMAGENET, arch_names, is_own
from ..errors import UserError
from ..layers import MultiScaleAttention
from ..weights.load import group as summed_up
from ..weights.load import load_weights
from ..weights.read import read_checkpoint
from . import operators
from .figure import plt, save_figure
from .models import BACKBONE, build_model, parse_kernel, read_model_config


class KernelCall(NamedTuple):
    """A call of the kernel of one attention block, for one image.

    Args:
        title (str): Kernel and model.
        kernel (AttentionKernel): The block's own.
        args (tuple): Of the kernel: q, k, v of shape (1, G, d, N), the map's size (H, W), and what
            else it takes.
        stride (int): Of the map, in pixels of the model's input.
    """
    title: str
    kernel: nn.Module
    args: tuple
    stride: int


class AttentionMap(NamedTuple):
    """Weights of one query.

    Args:
        title (str): Kernel and model.
        weights (np.ndarray): (H, W), multiples of 1 / (H·W), their mean where they sum to 1.
        stride (int): Of the map, in pixels of the model's input.
    """
    title: str
    weights: np.ndarray
    stride: int


def load_backbone(spec: str, checkpoint: Optional[str] = None) -> tuple:
    """Build a backbone of this package, with weights, and tell how it takes images.

    Args:
        spec (str): Name of a backbone, or a config that has one.
        checkpoint (str, optional): In any layout, a whole model's too. Defaults to None: random.

    Returns:
        tuple[EfficientViT, dict]: The backbone; ``mean``, ``std`` and ``to_rgb``.

    Raises:
        UserError: If there is no such model or checkpoint, or its backbone is another package's.
    """
    scaling = IMAGENET
    if spec in arch_names():
        backbone = build_model(spec)
    else:
        path = spec[:-len(BACKBONE)] if spec.endswith(BACKBONE) else spec
        backbone = build_model(path if path.startswith('timm:') else path + BACKBONE)
        if is_own(backbone):
            scaling = _scaling(path)
    if not is_own(backbone):
        raise UserError(f'{spec} has a {type(backbone).__name__}, not a backbone of this package, '
                        f'such as {", ".join(arch_names())}')
    if checkpoint is not None:
        report = load_weights(backbone, read_checkpoint(checkpoint))
        lacking = summed_up(report.missing + report.misshaped)
        tqdm.write(f'{checkpoint}: {len(report.loaded)} entries loaded'
                   + (f'; missing or of another shape, so random: {lacking}' if lacking else ''))
    return backbone, scaling


def _scaling(path: str) -> dict:
    cfg = read_model_config(path)
    found = cfg.model.get('data_preprocessor') or cfg.get('data_preprocessor') or {}
    return dict(mean=found.get('mean') or (0., 0., 0.), std=found.get('std') or (1., 1., 1.),
                to_rgb=found.get('to_rgb', found.get('bgr_to_rgb', False)))


def find_attention(backbone: EfficientViT, stage: Optional[int], block: int) -> tuple:
    """Find an attention block.

    Args:
        backbone (EfficientViT): To look in.
        stage (int, optional): 1 to 4. None takes the first that has attention.
        block (int): Index among the stage's attention blocks; negative from the end.

    Returns:
        tuple[MultiScaleAttention, int]: The block, and its map's stride in pixels.

    Raises:
        UserError: If there is none.
    """
    blocks = {}
    for number, layers in enumerate(backbone.stages, start=1):
        found = [module for module in layers.modules() if isinstance(module, MultiScaleAttention)]
        if found:
            blocks[number] = found
    if stage is None:
        stage = min(blocks)
    if stage not in blocks:
        raise UserError(f'--stage {stage} has no attention; stages that have: '
                        f'{", ".join(map(str, blocks))}')
    count = len(blocks[stage])
    if not -count <= block < count:
        raise UserError(f'--block {block}: stage {stage} has {count} attention blocks, '
                        f'0 to {count - 1}')
    return blocks[stage][block], 2 * 2**stage


def record_call(name: str, backbone: EfficientViT, attention: MultiScaleAttention,
                stride: int, images: Tensor) -> KernelCall:
    """Run a backbone and note what the kernel of one of its blocks is called with."""
    calls = []
    hook = attention.kernel.register_forward_pre_hook(lambda _, args: calls.append(args))
    with torch.no_grad():
        backbone(images)
    hook.remove()
    title = f'{type(attention.kernel).__name__}\n{name}'
    return KernelCall(title, attention.kernel, calls[0], stride)


def attention_weights(kernel: nn.Module, args: tuple, token: int) -> Tensor:
    r"""Weights with which a query averages the values, in time and memory linear in the tokens.

    An output is :math:`o_n = \sum_m w_{nm} v_m`, so :math:`w_{nm}` is the derivative of o_n with
    respect to v_m: one backward pass gives a whole row of weights, exactly. Where channels have
    weights of their own, as in Hydra, this is their mean. What a kernel adds to the average, such
    as a convolution of the values, is left out.

    Args:
        kernel (AttentionKernel): In evaluation mode.
        args (tuple): Of the kernel: q, k, v of shape (1, G, d, N), and the rest.
        token (int): Index of the query, n.

    Returns:
        Tensor: (G, N).
    """
    q, k, v, *rest = args
    v = v.detach().clone().requires_grad_()
    out = kernel.attend(q, k, v, *rest)
    chosen = out[0, :, :, token].mean(1).sum()  # groups do not mix
    return torch.autograd.grad(chosen, v)[0][0].sum(1)


def make_map(call: KernelCall, position: tuple, group: Optional[int] = None) -> AttentionMap:
    """Compute the map of one query.

    Args:
        call (KernelCall): From :func:`record_call`.
        position (tuple[float, float]): x and y in pixels of the model's input.
        group (int, optional): Group of channels. Defaults to None, the mean of all.

    Raises:
        UserError: If there is no such group.
    """
    height, width = call.args[3]
    column, row = (min(int(side / call.stride), limit - 1)
                   for side, limit in zip(position, (width, height)))
    weights = attention_weights(call.kernel, call.args, row * width + column)
    if group is not None and not 0 <= group < len(weights):
        raise UserError(f'--group {group}: there are {len(weights)}, 0 to {len(weights) - 1}')
    chosen = weights.mean(0) if group is None else weights[group]
    values = (chosen * len(chosen)).view(height, width).numpy()
    return AttentionMap(call.title, values, call.stride)


def to_input(image: np.ndarray, size: tuple, mean: Sequence, std: Sequence,
             to_rgb: bool) -> Tensor:
    """Resize and normalise an image (H, W, 3), uint8, BGR, to (1, 3, *size)."""
    resized = cv2.resize(image, size[::-1], interpolation=cv2.INTER_LINEAR)
    if to_rgb:
        resized = resized[..., ::-1]
    scaled = (resized.astype(np.float32) - np.float32(mean)) / np.float32(std)
    return torch.from_numpy(scaled.transpose(2, 0, 1).copy())[None]


def compute_maps(image: np.ndarray, models: Sequence, query: tuple, size: tuple,
                 kernels: Sequence = (), stage: Optional[int] = None, block: int = -1,
                 group: Optional[int] = None) -> list:
    """Compute maps of one query in several models, then of other kernels in the first of them.

    Args:
        image (np.ndarray): (H, W, 3), uint8, BGR.
        models (Sequence[str]): See :func:`load_backbone`; 'MODEL=CHECKPOINT' for one with weights.
        query (tuple[int, int]): x and y in pixels of the image.
        size (tuple[int, int]): (H, W) that the image is resized to.
        kernels (Sequence[str]): Names of ``KERNELS``, with options, for the first model's q and k,
            with their initial parameters. Defaults to ().
        stage (int, optional): See :func:`find_attention`. Defaults to None.
        block (int): See :func:`find_attention`. Defaults to -1, the last.
        group (int, optional): See :func:`make_map`. Defaults to None, the mean of all.

    Returns:
        list[AttentionMap]: In the order of ``models``, then of ``kernels``.

    Raises:
        UserError: If the query is outside of the image, or a part is not there.
    """
    height, width = image.shape[:2]
    if not (0 <= query[0] < width and 0 <= query[1] < height):
        raise UserError(f'--query {query[0]} {query[1]} is outside of the image, which is {width} '
                        f'wide and {height} high')
    position = ((query[0] + 0.5) * size[1] / width, (query[1] + 0.5) * size[0] / height)
    recorded, others = [], []
    for model in tqdm(models, desc='running', unit='model'):
        spec, _, checkpoint = model.partition('=')
        backbone, scaling = load_backbone(spec, checkpoint or None)
        attention, stride = find_attention(backbone, stage, block)
        name = f'{Path(spec).stem}, {Path(checkpoint).name or "random weights"}'
        if not recorded:  # whose config may have added kernels; before anything runs
            others = [(f'{kernel}\nq, k of {name}', _build(kernel, attention.kernel.head_dim))
                      for kernel in kernels]
        recorded.append(
            record_call(name, backbone, attention, stride, to_input(image, size, **scaling)))
    recorded += [recorded[0]._replace(title=title, kernel=kernel) for title, kernel in others]
    return [make_map(call, position, group) for call in recorded]


def _build(text: str, head_dim: int) -> nn.Module:
    parse_kernel(text, list(KERNELS))
    return operators.build(text, head_dim).eval()


def plot_maps(image: np.ndarray, size: tuple, query: tuple, maps: Sequence, path: Path) -> None:
    """Draw the image, then each map over it.

    Args:
        image (np.ndarray): (H, W, 3), uint8, BGR.
        size (tuple[int, int]): (H, W) of the model's input.
        query (tuple[int, int]): x and y in pixels of the image.
        maps (Sequence[AttentionMap]): One for each further panel.
        path (Path): Picture to write.
    """
    height, width = image.shape[:2]
    columns = min(4, 1 + len(maps))
    rows = -(-(1 + len(maps)) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(4 * columns, rows * (4 * height / width + 1)), squeeze=False,
        constrained_layout=True)
    axes = axes.flat
    axes[0].imshow(image[..., ::-1])
    axes[0].set_title(f'query at {query[0]}, {query[1]}\n', size=9)
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    for axis, shown in zip(axes[1:], maps):
        axis.imshow(grey, cmap='gray')
        covered = [side * shown.stride for side in shown.weights.shape]  # pixels of the input
        extent = (0, covered[1] * width / size[1], covered[0] * height / size[0], 0)
        colours = axis.imshow(shown.weights, alpha=0.65, interpolation='bilinear', extent=extent,
                              **_colours(shown.weights))
        figure.colorbar(colours, ax=axis, location='bottom', aspect=30, pad=0.02, format='%.4g',
                        ticks=MaxNLocator(4), label='weight × number of tokens')
        axis.set_title(shown.title, size=9)
    for axis in axes:
        axis.set_axis_off()
        axis.set_anchor('N')
    for axis in axes[:1 + len(maps)]:
        axis.plot(query[0] + 0.5, query[1] + 0.5, '*', markersize=12, color='lime',
                  markeredgecolor='black')
        axis.set(xlim=(0, width), ylim=(height, 0))
    save_figure(figure, path)


def _colours(weights: np.ndarray) -> dict:
    """Colour map and its range: around 0 where weights are negative, never narrower than 0.02."""
    low, high = float(weights.min()), float(weights.max())
    if low < -1e-3 * high:
        limit = max(high, -low, 0.01)
        return dict(cmap='coolwarm', vmin=-limit, vmax=limit)
    margin = max(0., 0.01 - (high - low) / 2)  # an even map is to look even
    return dict(cmap='inferno', vmin=low - margin, vmax=high + margin)
