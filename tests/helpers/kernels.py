"""The kernels that the tests run, each with the options that change what it computes."""

import torch

from mmqtvit.attention import KERNELS

VARIANTS = [
    dict(type='CompactQuadraticTaylor', beta=None, gamma=3**0.5),
    dict(type='CompactQuadraticTaylor', alpha=2., beta=0.5),
    dict(type='PoolingQuadraticTaylor', pool=4, linear_term=False),
    dict(type='ChunkQuadraticTaylor', chunks=8),
    dict(type='ChunkQuadraticTaylor', chunks=4, linear_term=False),
    dict(type='RandomQuadraticTaylor', linear_term=False),
    dict(type='SigmoidSoftmax', elementwise=True),
    dict(type='FocusedLinear', power=2.5),
    dict(type='InLineAttention', feature_map='relu'),
    dict(type='InLineAttention', feature_map='exp', local_residual=False),
    dict(type='ReleasedQuadraticTaylor', softmax_residual=dict(threshold=0.1)),
]
CASES = [dict(type=name) for name in KERNELS] + VARIANTS


def name_of(cfg):
    return '-'.join(f'{key}={value}' if key != 'type' else value for key, value in cfg.items())


def sums_to_one(cfg):
    """Whether the rows of the weights do by definition."""
    return (cfg['type'] not in ('CosineLinear', 'HydraAttention', 'MeanLinear')
            and not cfg.get('elementwise') and 'softmax_residual' not in cfg)


def make_qkv(size, dtype=torch.float64, requires_grad=False, shape=(2, 3, 8)):
    generator = torch.Generator().manual_seed(0)
    shape = (*shape, size[0] * size[1])
    q, k, v = (torch.randn(shape, generator=generator, dtype=dtype) for _ in range(3))
    for x in (q, k):
        x[:, :, 0].abs_()  # a query without a positive entry has no ReLU weights
    return [x.requires_grad_(requires_grad) for x in (q, k, v)]
