"""Each kernel in its explicit N×N form, written from the formula."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def inner(a: Tensor, b: Tensor) -> Tensor:
    """Inner products of all tokens (B, G, f, N) as (B, G, N, N), the first argument's first."""
    return torch.einsum('bgfn,bgfm->bgnm', a, b)


def summed(weights: Tensor, v: Tensor) -> Tensor:
    """Sum up v (B, G, d, N) with weights (B, G, N, N), queries first."""
    return torch.einsum('bgnm,bgdm->bgdn', weights, v)


def divided(weights: Tensor, v: Tensor) -> Tensor:
    return summed(weights / weights.sum(-1, keepdim=True), v)


def normalised(x: Tensor) -> Tensor:
    return x / x.norm(dim=2, keepdim=True)


def released_quadratic_taylor(kernel, q, k, v, size):
    def phi(x):
        unit = x / x.norm(dim=2, keepdim=True)
        u = unit**2 / (unit**2).norm(dim=2, keepdim=True)
        s = kernel.constant.to(x.dtype).expand(*x.shape[:2], 1, x.shape[3])
        return torch.cat([u, s], dim=2)

    return divided(inner(phi(q), phi(k)), v)


def compact_quadratic_taylor(kernel, q, k, v, size):
    def phi(x):
        ones = torch.ones_like(x[:, :, :1])
        parts = [kernel.alpha * x**2, kernel.gamma * ones]
        if kernel.beta is not None:
            parts.append(kernel.beta * (4 / x.shape[2])**0.25 * x)
        return torch.cat([*parts, ones], dim=2) / 2**0.5

    return divided(inner(phi(q), phi(k)), v)


def exact_quadratic_taylor(kernel, q, k, v, size):
    t = inner(q, k) / q.shape[2]**0.5
    return divided(1 + t + t**2 / 2, v)


def reduced(kernel, q, k, v, quadratic):
    """Weights ½·quadratic/d + t + 1."""
    dim = q.shape[2]
    linear = inner(q, k) / dim**0.5 if kernel.linear_term else 0.
    return divided(quadratic / (2 * dim) + linear + 1, v)


def pooling_quadratic_taylor(kernel, q, k, v, size):
    def pool(x):
        return torch.stack([part.mean(2) for part in x.split(kernel.pool, dim=2)], dim=2)

    return reduced(kernel, q, k, v, inner(pool(q), pool(k))**2)


def chunk_quadratic_taylor(kernel, q, k, v, size):
    pairs = zip(q.chunk(kernel.chunks, 2), k.chunk(kernel.chunks, 2))
    return reduced(kernel, q, k, v, sum(inner(a, b)**2 for a, b in pairs))


def random_quadratic_taylor(kernel, q, k, v, size):
    def chosen(x):
        return torch.stack([x[:, :, i] * x[:, :, j] for i, j in kernel.pairs.T.tolist()], dim=2)

    return reduced(kernel, q, k, v, inner(chosen(q), chosen(k)))


def softmax(kernel, q, k, v, size):
    return divided((inner(q, k) / q.shape[2]**0.5).exp(), v)


def relu_linear(kernel, q, k, v, size):
    return divided(inner(q.relu(), k.relu()), v)


def cosine(kernel, q, k, v, size):
    return summed(inner(normalised(q), normalised(k)) / v.shape[-1], v)


def hydra(kernel, q, k, v, size):
    weights = torch.einsum('bgdn,bgdm->bgdnm', normalised(q), normalised(k))
    return torch.einsum('bgdnm,bgdm->bgdn', weights, v)


def mean(kernel, q, k, v, size):
    num_tokens = v.shape[-1]
    return summed(inner(q / num_tokens**0.5, k / num_tokens**0.5), v)


def sigmoid_softmax(kernel, q, k, v, size):
    gates, shares = 1 / (1 + (-q).exp()), k.exp() / k.exp().sum(-1, keepdim=True)
    if kernel.elementwise:
        weights = torch.einsum('bgdn,bgdm->bgdnm', gates, shares)
        return torch.einsum('bgdnm,bgdm->bgdn', weights, v)
    return divided(inner(gates, shares), v)


def angular(kernel, q, k, v, size):
    return divided(0.5 + inner(normalised(q), normalised(k)) / math.pi, v)


def first_order_taylor(kernel, q, k, v, size):
    centred = k - k.mean(-1, keepdim=True)
    return divided(1 + inner(q, centred) / q.shape[2]**0.5, v)


def elu_linear(kernel, q, k, v, size):
    def phi(x):
        return torch.where(x > 0, x + 1, x.clamp(max=0).exp())

    return divided(inner(phi(q), phi(k)), v)


def focused(kernel, q, k, v, size):
    def phi(x):
        x = x.relu() + 1e-6
        power = x**kernel.power
        return x.norm(dim=2, keepdim=True) / power.norm(dim=2, keepdim=True) * power

    maps = v.flatten(0, 1).unflatten(-1, size)
    local = F.conv2d(maps, kernel.depth.weight, kernel.depth.bias, padding=2, groups=maps.shape[1])
    return divided(inner(phi(q), phi(k)), v) + local.view(v.shape)


def inline(kernel, q, k, v, size):
    phi = {'identity': lambda x: x, 'relu': torch.relu, 'exp': torch.exp}[kernel.feature_map]
    products = inner(phi(q), phi(k))
    centred = products - products.mean(-1, keepdim=True)
    return summed((centred / q.shape[2]**0.5 + 1) / v.shape[-1], v)


ORACLES = {
    'ReleasedQuadraticTaylor': released_quadratic_taylor,
    'CompactQuadraticTaylor': compact_quadratic_taylor,
    'ExactQuadraticTaylor': exact_quadratic_taylor,
    'PoolingQuadraticTaylor': pooling_quadratic_taylor,
    'ChunkQuadraticTaylor': chunk_quadratic_taylor,
    'RandomQuadraticTaylor': random_quadratic_taylor,
    'SoftmaxAttention': softmax,
    'ReLULinear': relu_linear,
    'CosineLinear': cosine,
    'HydraAttention': hydra,
    'MeanLinear': mean,
    'SigmoidSoftmax': sigmoid_softmax,
    'AngularLinear': angular,
    'FirstOrderTaylor': first_order_taylor,
    'ELULinear': elu_linear,
    'FocusedLinear': focused,
    'InLineAttention': inline,
}


def explicit(kernel, q, k, v, size):
    """What a kernel gives for (B, G, d, N), the residual of softmax in training included."""
    out = ORACLES[type(kernel).__name__](kernel, q, k, v, size)
    if kernel.training and kernel.softmax_residual is not None:
        weights = (inner(q, k) / q.shape[2]**0.5).softmax(-1)
        strong = weights > kernel.softmax_residual.threshold
        out = out + summed(weights * strong, v)
    return out
