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
