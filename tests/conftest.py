import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope='session')
def root():
    """The checkout."""
    return ROOT


@pytest.fixture(scope='session')
def shared():
    """Reference outputs and sample data, which lie beside the checkout of the developers."""
    folder = ROOT.parent / 'shared'
    if not folder.is_dir():
        pytest.skip(f'{folder} is not there: it holds reference outputs and real sample data')
    return folder


@pytest.fixture(autouse=True)
def nothing_left_over(monkeypatch):
    """Let mmengine forget what it keeps by name: the scope, and visualisers with their folders."""
    monkeypatch.setenv('LOCAL_RANK', '0')
    yield
    if mmengine := sys.modules.get('mmengine.registry'):
        mmengine.DefaultScope._instance_dict.clear()
    if mmengine := sys.modules.get('mmengine.visualization'):
        kinds = [mmengine.Visualizer]
        for kind in kinds:
            kind._instance_dict.clear()
            kinds += kind.__subclasses__()


@pytest.fixture()
def copied_package(root, tmp_path):
    """A copy of the package, to which a test may add files; the folder for PYTHONPATH."""
    shutil.copytree(root / 'mmqtvit', tmp_path / 'mmqtvit',
                    ignore=shutil.ignore_patterns('__pycache__'))
    return tmp_path
