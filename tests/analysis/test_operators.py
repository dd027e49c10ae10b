import pytest
import torch

from mmqtvit.analysis.counting import count
from mmqtvit.analysis.operators import LITERAL, build, make_case, run
from mmqtvit.analysis.results import describe
from mmqtvit.analysis.timing import Schedule
from mmqtvit.errors import UserError

CPU = torch.device('cpu')


def tensors(size, groups=2, head_dim=4):
    torch.manual_seed(0)
    return [torch.randn(1, groups, head_dim, size[0] * size[1], dtype=torch.float64,
                        requires_grad=True) for _ in range(3)]


def test_the_literal_form_is_the_released_kernel():
    size = (5, 7)
    inputs = tensors(size)
    literal, released = build(LITERAL, 4).double(), build('ReleasedQuadraticTaylor', 4).double()
    for kernel in (literal, released):
        kernel.constant.data.fill_(0.7)
    expected, got = literal(*inputs, size), released(*inputs, size)
    assert torch.allclose(expected, got, atol=1e-10)
    direction = torch.randn_like(expected)
    gradients = [torch.autograd.grad(out, [*inputs, kernel.constant], direction)
                 for out, kernel in ((expected, literal), (got, released))]
    assert all(torch.allclose(*pair, atol=1e-8) for pair in zip(*gradients))


def test_the_literal_form_counts_what_it_multiplies():
    class Alone(torch.nn.Module):

        def __init__(self):
            super().__init__()
            self.kernel = build(LITERAL, 4)

        def forward(self, x):  # (1, 3, 5, 7)
            q = x.new_zeros(1, 2, 4, 35)
            return self.kernel(q, q, q, (5, 7))

    total = count(Alone, (5, 7)).total
    assert total.macs == total.attention_macs == build(LITERAL, 4).macs(2, 35)


@pytest.mark.parametrize('pass_', ['forward', 'train'])
def test_cases(pass_):
    case = make_case('ReLULinear:eps=1e-5', (4, 6), 2, 4, 'bfloat16', pass_, CPU)
    case.run()
    assert (case.forward is None) == (pass_ == 'forward')
    if case.forward:
        assert case.forward().dtype == torch.bfloat16
        assert all(tensor.grad is None for tensor in case.existing)


def test_a_run_and_its_table():
    measurements = run([LITERAL, 'ReLULinear'], [(4, 8)], 2, 4, 'float32',
                       ['forward', 'train'], CPU, Schedule(1, 2))
    assert len(measurements) == 4
    shown = describe(measurements, Schedule(1, 2), dict(device='cpu'), ['size', 'pass'],
                     dict(twice=lambda measurement: 2 * len(measurement.times)))
    header, _, *rows = [line for line in shown.splitlines() if line.startswith('|')]
    assert 'twice' in header and 'kept for backward' in header and 'quartiles' in header
    assert len(rows) == 4 and 'literal' in rows[0]


@pytest.mark.parametrize('text', ['Literal', 'ReLULinear:p=1', 'ReLULinear:eps'])
def test_wrong_kernels(text):
    with pytest.raises(UserError, match=text.split(':')[0]):
        run([text], [(4, 4)], 2, 4, 'float32', ['forward'], CPU, Schedule(1, 1))
