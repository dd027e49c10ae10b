"""The folder's README speaks of the kernels that there are."""

import inspect
import re
from ast import literal_eval

import pytest
import torch

from mmqtvit.attention import KERNELS, build_kernel
from tests.attention.oracles import divided, inner
from tests.helpers.kernels import make_qkv


@pytest.fixture(scope='module')
def text(root):
    return (root / 'mmqtvit/attention/README.md').read_text()


def test_every_kernel_and_option_is_in_the_table(text):
    rows = [line.split('|')[1:-1] for line in text.splitlines() if line.startswith('| `')][1:]
    told = {row[0].strip(' `'): dict(re.findall(r'`(\w+)=([^`]+)`', row[-1])) for row in rows}
    there = {name: list(inspect.signature(kernel).parameters.values())[1:]
             for name, kernel in KERNELS.items()}
    assert told.keys() == there.keys()
    for name, options in there.items():
        defaults = {key: literal_eval(value) for key, value in told[name].items()}
        assert defaults == {option.name: option.default for option in options}, name


def test_the_kernel_that_the_readme_adds(text, monkeypatch):
    source = re.search(r'```python\n(.*?)```', text, re.S)[1]
    assert len([line for line in source.splitlines() if line]) <= 10
    module = dict(__name__='mmqtvit.attention.square', __package__='mmqtvit.attention')
    exec(source, module)
    monkeypatch.setitem(KERNELS, 'SquareLinear', module['SquareLinear'])
    q, k, v = make_qkv((7, 10))
    kernel = build_kernel(dict(type='SquareLinear'), 8)
    torch.testing.assert_close(kernel(q, k, v, (7, 10)), divided(inner(q**2, k**2), v))
    assert kernel.macs(3, 70) == 3 * 70 * 8 * 17
