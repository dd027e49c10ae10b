"""What may be asked of a kernel, and what is answered to the rest."""

from math import inf, nan

import pytest
import torch

from mmqtvit.attention import KERNELS, LinearKernel, build_kernel
from tests.helpers.kernels import make_qkv

LINEAR = [name for name, cls in KERNELS.items() if issubclass(cls, LinearKernel)]


@pytest.mark.parametrize('cfg, message', [
    (dict(type='Softmax2'), r"one of \['AngularLinear', .*\], got 'Softmax2'"),
    (dict(), r"one of \['AngularLinear', .*\], got None"),
    (dict(type='PoolingQuadraticTaylor', pool=3), r'pool .* one of \[1, 2, 4, 8\], got 3'),
    (dict(type='PoolingQuadraticTaylor', pool=0), r'pool .* one of \[1, 2, 4, 8\], got 0'),
    (dict(type='PoolingQuadraticTaylor', pool=2.), r'pool .* one of \[1, 2, 4, 8\], got 2.0'),
    (dict(type='PoolingQuadraticTaylor', pool=True), r'pool .* one of \[1, 2, 4, 8\], got True'),
    (dict(type='ChunkQuadraticTaylor', chunks=16), r'chunks .* one of \[1, 2, 4, 8\], got 16'),
    (dict(type='ChunkQuadraticTaylor', chunks=-2), r'chunks .* one of \[1, 2, 4, 8\], got -2'),
    (dict(type='FocusedLinear', power=0), 'power must be a finite number, above 0, got 0'),
    (dict(type='InLineAttention', feature_map='elu'),
     r"one of \['exp', 'identity', 'relu'\], got 'elu'"),
    (dict(type='ReLULinear', softmax_residual=dict(threshold=1.)),
     'threshold .* at least 0 and below 1, got 1.0'),
    ('ReLULinear', "attention must be a dict such as dict.type='ReLULinear'., got 'ReLULinear'"),
    (None, 'attention must be a dict such as .*, got None'),
    (dict(type=['ReLULinear']), r"one of \['AngularLinear', .*\], got \['ReLULinear'\]"),
    *((dict(type='ReLULinear', softmax_residual=value),
       f'softmax_residual, unless None, must be a dict such as .*, got {value!r}')
      for value in (True, False, 0.02, '{}')),
    *((dict(type='ReLULinear', eps=value), f'eps must be a finite number, above 0, got {value!r}')
      for value in (-1, 0, None, 'abc', nan, inf, True)),
    *((dict(type='FocusedLinear', power=value), f'power must .* above 0, got {value!r}')
      for value in ('abc', inf, nan, True)),
    (dict(type='ReLULinear', softmax_residual=dict(threshold='abc')), "below 1, got 'abc'"),
    (dict(type='CompactQuadraticTaylor', alpha='x'), "alpha must be a finite number, got 'x'"),
    (dict(type='CompactQuadraticTaylor', gamma=nan), 'gamma must be a finite number, got nan'),
    (dict(type='CompactQuadraticTaylor', beta='none'), "unless None, must .*, got 'none'"),
    (dict(type='CompactQuadraticTaylor', beta=False), 'unless None, must .*, got False'),
    (dict(type='InLineAttention', feature_map=['relu']), r"'relu'\], got \['relu'\]"),
    (dict(type='InLineAttention', local_residual='no'), "True or False, got 'no'"),
    (dict(type='PoolingQuadraticTaylor', linear_term='no'), "True or False, got 'no'"),
    (dict(type='SigmoidSoftmax', elementwise='False'), "True or False, got 'False'"),
    (dict(type='SoftmaxAttention', softmax_residual={}), "linear kernels, got 'SoftmaxAttention'"),
])
def test_wrong_values(cfg, message):
    with pytest.raises(ValueError, match=message):
        build_kernel(cfg, 8)


@pytest.mark.parametrize('cfg, message', [
    (dict(type='ReLULinear', p=2), r"ReLULinear has no option 'p'; its options are \['eps'\]"),
    (dict(type='AngularLinear', eps=2), r"AngularLinear has no option 'eps'; .* \[\]"),
    (dict(type='ReLULinear', softmax_residual=dict(tau=0.1)),
     r"SoftmaxResidual has no option 'tau'; its options are \['threshold'\]"),
])
def test_unknown_options(cfg, message):
    with pytest.raises(TypeError, match=message):
        build_kernel(cfg, 8)


@pytest.mark.parametrize('name', LINEAR)
def test_every_linear_kernel_takes_a_softmax_residual(name):
    torch.manual_seed(0)
    kernel = build_kernel(dict(type=name, softmax_residual={}), 8)
    assert kernel.softmax_residual.threshold == 0.02
    plain = build_kernel(dict(type=name), 8)
    plain.load_state_dict(kernel.state_dict())  # the residual has no entries of its own
    q, k, v = make_qkv((3, 5), torch.float32)
    with torch.no_grad():
        rest = kernel(q, k, v, (3, 5)) - plain(q, k, v, (3, 5))
        torch.testing.assert_close(rest, kernel.softmax_residual(q, k, v), rtol=1e-4, atol=1e-4)
        assert torch.equal(kernel.eval()(q, k, v, (3, 5)), plain.eval()(q, k, v, (3, 5)))


def test_softmax_residual_without_a_threshold_is_softmax():
    q, k, v = make_qkv((3, 5))
    residual = build_kernel(dict(type='ReLULinear', softmax_residual=dict(threshold=0.)), 8)
    torch.testing.assert_close(residual.softmax_residual(q, k, v),
                               build_kernel(dict(type='SoftmaxAttention'), 8)(q, k, v, (3, 5)))
