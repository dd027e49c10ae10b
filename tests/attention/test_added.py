"""A kernel is added by one file and one line, and all that takes kernels takes it."""

import os
import re
import subprocess
import sys

USES = """
import torch
from mmqtvit import QTViT, deploy
from mmqtvit.analysis.cost import cost
from mmqtvit.attention import KERNELS, build_kernel

assert 'SquareLinear' in KERNELS
arch = dict(series='b', widths=[8, 8, 16, 16, 16], depths=[1] * 5, head_dim=8)
model = QTViT(arch, attention=dict(type='SquareLinear')).eval()
image = torch.rand(1, 3, 48, 64)
with torch.no_grad():
    for ordinary, deployed in zip(model(image), deploy(model)(image)):
        torch.testing.assert_close(deployed, ordinary, rtol=1e-4, atol=1e-5)
kernel = build_kernel(dict(type='SquareLinear', softmax_residual={}), 8)
print(cost(model, image).macs > 0, kernel.macs(1, 12))
"""


def test_one_file_and_one_line(copied_package):
    folder = copied_package / 'mmqtvit/attention'
    source = re.search(r'```python\n(.*?)```', (folder / 'README.md').read_text(), re.S)[1]
    (folder / 'square.py').write_text(source)
    with (folder / '__init__.py').open() as file:
        lines = file.readlines()
    lines.insert(lines.index('from .softmax import SoftmaxAttention, SoftmaxResidual\n') + 1,
                 'from .square import SquareLinear\n')
    (folder / '__init__.py').write_text(''.join(lines))
    result = subprocess.run([sys.executable, '-c', USES], cwd=copied_package, capture_output=True,
                            env=dict(os.environ, PYTHONPATH=str(copied_package)), text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f'True {12 * 8 * 17}\n'
