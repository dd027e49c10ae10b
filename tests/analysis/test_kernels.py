import cv2
import pytest
import torch

from mmqtvit import QTViT
from mmqtvit.analysis.kernels import (
    attention_stride,
    build,
    compare,
    describe,
    describe_shares,
    plot,
)
from mmqtvit.analysis.results import save_records
from mmqtvit.analysis.timing import Schedule
from mmqtvit.attention import KERNELS
from mmqtvit.errors import UserError

CPU = torch.device('cpu')
ONCE = Schedule(1, 1)
TWO = ['ReleasedQuadraticTaylor', 'ReLULinear:eps=1e-5']


def test_only_the_kernel_differs():
    released, relu = (build('qtvit1', kernel) for kernel in TWO)
    kernels = {type(module).__name__ for module in relu.modules()} & set(KERNELS)
    assert kernels == {'ReLULinear'} and relu.stages[2][1].attention.branch.kernel.eps == 1e-5
    assert torch.equal(released.stem[0].conv.weight, relu.stem[0].conv.weight)
    assert relu.stages[2][1].attention.branch.position_embedding is not None


def test_maps_of_the_first_attention_stage():
    assert attention_stride('qtvit1') == attention_stride('b3') == 16
    assert attention_stride('qtvit6') == attention_stride('l0') == 32


def test_comparison(tmp_path, capsys):
    costs = compare(TWO, [(2, 3)], 'qtvit1', 2, CPU, ONCE)
    assert [(cost.kernel, cost.size) for cost in costs] == [(kernel, '2x3') for kernel in TWO]
    released, relu = (cost.count for cost in costs)
    assert released.params - relu.params == 7  # the learnable constants
    # three blocks of 16 groups of 6 tokens, four of 32 of 1 × 2, at 16 channels
    by_hand = (3 * 16 * 6 + 4 * 32 * 2) * 16 * (2 * 16 + 1)
    assert relu.attention_macs == released.attention_macs == by_hand
    assert all(cost.passes['train'].peak > cost.passes['forward'].peak > 0 for cost in costs)
    assert '4/4' in capsys.readouterr().err

    shown = describe(costs)
    assert all(f'| {kernel}' in shown for kernel in TWO)
    assert 'train, ms' in shown and 'attention, %' in shown
    save_records([cost.record() for cost in costs], ONCE, {}, tmp_path / 'costs.csv')
    header, *lines = (tmp_path / 'costs.csv').read_text().splitlines()
    assert header.startswith('kernel,map,params,macs,attention_macs,forward_median_s')
    assert 'train_kept_bytes' in header and len(lines) == 2
    plot(costs, 'title', tmp_path / 'costs.png')
    picture = cv2.imread(str(tmp_path / 'costs.png'))
    assert picture.shape[1] > 1000 and picture.std() > 5


def test_shares(monkeypatch):
    monkeypatch.setattr(QTViT, 'ARCHS', {name: QTViT.ARCHS[name] for name in ('qtvit1', 'qtvit4')})
    rows = describe_shares((224, 224)).splitlines()[2:]
    cells = [[cell.strip() for cell in row.split('|')[1:-1]] for row in rows]
    assert [row[0] for row in cells] == ['qtvit1', 'qtvit4']
    # 196 tokens in 3 blocks of 16 groups and 49 in 4 of 32, at 16 channels; 49 in 6 of 32, at 32
    assert float(cells[0][2]) == pytest.approx((3 * 16 * 196 + 4 * 32 * 49) * 16 * 33e-9, rel=1e-3)
    assert float(cells[1][2]) == pytest.approx(6 * 32 * 49 * 32 * 65e-9, rel=1e-3)


@pytest.mark.parametrize('kernel', ['ReLU', 'ReLULinear:p=2', 'literal'])
def test_wrong_kernels(kernel):
    with pytest.raises(UserError, match=kernel.split(':')[0]):
        compare([kernel], [(4, 4)], 'qtvit1', 1, CPU, ONCE)


def test_maps_too_small_to_train_on():
    with pytest.raises(UserError, match='--map-sizes 2x2: a batch norm cannot train'):
        compare(['ReLULinear'], [(4, 4), (2, 2)], 'qtvit1', 1, CPU, ONCE)
