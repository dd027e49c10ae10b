"""Multiply-adds and parameters of a module: the one counter of this package."""

from typing import Any, NamedTuple

import torch
from torch import nn
from torch.overrides import BaseTorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

aten = torch.ops.aten


#: Products that PyTorch's counter does not know, in FLOPs as it counts; a multiply-add is two.
FORMULAS = {
    aten._scaled_dot_product_flash_attention_for_cpu:
        lambda q, k, v, *_, out_shape, **__: sdpa_flop_count(q, k, v),
    aten.mv: lambda matrix, vector, out_shape: 2 * matrix[0] * matrix[1],
    aten.addmv: lambda bias, matrix, vector, out_shape, **_: 2 * matrix[0] * matrix[1],
    aten.dot: lambda left, right, out_shape: 2 * left[0],
    aten.addbmm: lambda bias, left, right, out_shape, **_:
        2 * left[0] * left[1] * left[2] * right[2],
}


class Cost(NamedTuple):
    """What one call of a module costs.

    Args:
        params (int): Number of parameters.
        macs (int): Multiply-adds: one multiplication with its addition, two FLOPs.
        outputs (Any): What the call returned.
        flops (dict[str, dict]): FLOPs of each module by operator. The names begin with the class
            of the module that was called, as in 'QTViT.stages.2'.
    """
    params: int
    macs: int
    outputs: Any
    flops: dict


def cost(module: nn.Module, *inputs: Any) -> Cost:
    """Call a module once without gradients and count its multiply-adds and parameters.

    Convolutions, linear layers and matrix products count; norms, activations, sums, resizing and
    pooling do not, as usual. Under ``FakeTensorMode`` only shapes are followed, without arithmetic.

    Args:
        module (nn.Module): What to call, in the mode (training or evaluation) that it is in.
        *inputs (Any): Its inputs.
    """
    parameters = list(module.parameters())
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    counter = FlopCounterMode(display=False, custom_mapping=FORMULAS)
    module.requires_grad_(False)  # with gradients the counter's hooks fail in no_grad
    try:
        # Under a mode nn.MultiheadAttention and nn.TransformerEncoderLayer run step by step, and
        # not as one operator that nothing counts.
        with torch.no_grad(), counter, BaseTorchFunctionMode():
            outputs = module(*inputs)
    finally:
        for parameter in trained:
            parameter.requires_grad_()
    return Cost(sum(parameter.numel() for parameter in parameters),
                counter.get_total_flops() // 2, outputs, counter.get_flop_counts())
