import pytest
import torch
from torch import nn

from mmqtvit.analysis.memory import kept_for_backward, peak_memory

CPU = torch.device('cpu')
MB = 2**20


def test_peak_is_the_highest_point_not_the_sum():
    def call():
        first = torch.zeros(MB, dtype=torch.uint8)
        del first
        second = torch.zeros(2 * MB, dtype=torch.uint8)
        third = torch.zeros(MB, dtype=torch.uint8)
        del second, third
        torch.zeros(2 * MB, dtype=torch.uint8)

    assert peak_memory(call, CPU) == pytest.approx(3 * MB, rel=0.01)


def test_peak_counts_from_where_the_call_began():
    there = torch.zeros(8 * MB, dtype=torch.uint8)
    assert peak_memory(lambda: there[:MB].clone(), CPU) == pytest.approx(MB, rel=0.01)
    assert peak_memory(lambda: None, CPU) == 0


def test_peak_sees_the_backward_pass_and_inside_of_operators():
    x = torch.rand(1, MB // 4, requires_grad=True)  # 1 MB
    grown = peak_memory(lambda: (x * x).exp().sum().backward(), CPU)
    assert 3 * MB <= grown <= 5 * MB


def test_kept_for_backward():
    x = torch.rand(MB // 4, requires_grad=True)
    assert kept_for_backward(lambda: (x * 2).exp().sum(), [x]) == MB  # the output of exp
    assert kept_for_backward(lambda: (x * x).sum(), [x]) == 0
    assert kept_for_backward(lambda: (x * x).sum(), []) == MB
    assert kept_for_backward(lambda: (x + 1).sum(), [x]) == 0


def test_kept_memory_that_is_shared_counts_once():
    x = torch.rand(2, MB // 4, requires_grad=True)

    def forward():
        y = x + 1
        return (y[0] * y[1]).sum()

    assert kept_for_backward(forward, [x]) == 2 * MB


def test_kept_of_a_layer():
    layer = nn.Linear(4, 5)
    x = torch.rand(3, 4)
    assert kept_for_backward(lambda: layer(x).relu().sum(), [x, *layer.parameters()]) == 3 * 5 * 4
