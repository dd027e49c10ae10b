"""Swapped configs train through the toolboxes' own ``tools/train.py``.

All of the named ones do with ``MMQTVIT_ALL_NAMED=1 pytest tests/swap/test_training.py``.
"""

import os
import re
import sys
from pathlib import Path

import pytest
from mmengine.utils import get_installed_path

from mmqtvit.demo import write_dataset

from ..tools.test_command_lines import run, tool
from .named_configs import NAMED, write_trial

CHOSEN = NAMED if 'MMQTVIT_ALL_NAMED' in os.environ else ('rtmdet', 'segformer')


@pytest.fixture(scope='module')
def scenes(tmp_path_factory):
    folder = tmp_path_factory.mktemp('scenes')
    write_dataset(folder, train=8, val=1, size=128, seed=0)
    return folder


@pytest.mark.slow()
@pytest.mark.parametrize('name', CHOSEN)
def test_two_steps(name, scenes, tmp_path):
    leaf, trial = tmp_path / 'leaf.py', tmp_path / 'trial.py'
    tool('swap_backbone').main([NAMED[name], '-o', str(leaf)])
    write_trial(leaf, scenes, trial)
    toolbox = NAMED[name].split('::')[0]
    train = Path(get_installed_path(toolbox), '.mim/tools/train.py')
    result = run(sys.executable, train, trial, '--work-dir', tmp_path / 'run', cwd=tmp_path)
    assert result.returncode == 0, result.stderr[-3000:]
    losses = [float(value) for value in re.findall(r'  loss: ([\d.]+)', result.stdout)]
    assert len(losses) == 2 and min(losses) > 0, result.stdout[-3000:]
