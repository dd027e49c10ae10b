"""The Makefile, with a set-up that only writes down that it was called."""

import os
import shutil
import subprocess

import pytest

FAKE_SETUP = '''
from pathlib import Path
with open('calls', 'a') as log:
    log.write('setup\\n')
Path('.venv').mkdir(exist_ok=True)
Path('.venv/installed').touch()
'''


@pytest.fixture
def checkout(root, tmp_path):
    folder = tmp_path / 'a folder with spaces'
    (folder / 'tools').mkdir(parents=True)
    (folder / 'mmqtvit' / 'demo').mkdir(parents=True)
    shutil.copy(root / 'Makefile', folder)
    for name in ('requirements.txt', 'requirements-pose.txt', 'pyproject.toml', 'setup.py',
                 'tools/make_demo_data.py'):
        (folder / name).touch()
    (folder / 'tools' / 'setup_env.py').write_text(FAKE_SETUP)
    return folder


def make(folder, *arguments):
    """Calls make from elsewhere, as a new user's shell would."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith('MAKE')}
    result = subprocess.run(
        ['make', '-C', folder, *arguments], cwd='/', env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=True)
    return result.stdout


def test_help_is_the_default(checkout):
    out = make(checkout)
    for target in ('setup', 'pose', 'demo', 'demo-det', 'test', 'lint', 'clean'):
        assert f'make {target} ' in out
    assert not (checkout / 'calls').exists()


def test_setup_runs_once_until_the_requirements_change(checkout):
    make(checkout, 'setup')
    make(checkout, 'setup')
    assert (checkout / 'calls').read_text().split() == ['setup']
    stamp = (checkout / '.venv' / 'installed').stat().st_mtime
    os.utime(checkout / 'requirements.txt', (stamp + 1, stamp + 1))
    make(checkout, 'setup')
    assert (checkout / 'calls').read_text().split() == ['setup', 'setup']


@pytest.mark.parametrize('target', ['demo', 'demo-det', 'pose', 'test'])
def test_targets_install_first(checkout, target):
    lines = make(checkout, '--dry-run', target).splitlines()
    commands = [line for line in lines if 'python' in line.lower()]
    assert 'tools/setup_env.py' in commands[0]
    assert all(line.startswith('.venv/bin/python ') for line in commands[1:] if 'cat' not in line)


@pytest.mark.parametrize('target, config', [
    ('demo', 'upernet_qtvit1_demo'), ('demo-det', 'retinanet_qtvit1_demo')])
def test_demo_draws_trains_tests_and_plots(checkout, target, config):
    out = make(checkout, '--dry-run', target)
    steps = ['make_demo_data.py', f'train.py configs/{config}.py', f'test.py configs/{config}.py',
             'plot_log.py']
    places = [out.index(step) for step in steps]
    assert places == sorted(places)


def test_clean_spares_the_environment_and_other_results(checkout):
    make(checkout, 'setup')
    (checkout / 'work_dirs' / 'mine').mkdir(parents=True)
    (checkout / 'work_dirs' / 'upernet_qtvit1_demo').mkdir()
    make(checkout, 'clean')
    assert (checkout / '.venv').is_dir()
    assert [path.name for path in (checkout / 'work_dirs').iterdir()] == ['mine']


def test_ci_runs_the_tests(root):
    script = root / '.ci' / 'run'
    assert os.access(script, os.X_OK)
    assert script.read_text().strip().splitlines()[-2:] == ['make pose', 'make test']


def test_the_extra_is_installed_without_its_dependencies(checkout):
    assert 'pose' not in make(checkout, '--dry-run', 'test')
    assert 'pip install --quiet --no-deps -r requirements-pose.txt' in make(
        checkout, '--dry-run', 'pose')
