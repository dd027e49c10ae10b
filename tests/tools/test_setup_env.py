"""The set-up without installing anything: what it calls, in which order, and what it says."""

import importlib.util
import os
import subprocess
import sys

import pytest


@pytest.fixture
def setup_env(root, tmp_path, monkeypatch):
    """The set-up with a .venv in an empty folder, and a working compiler on a fit Python."""
    spec = importlib.util.spec_from_file_location('setup_env', root / 'tools' / 'setup_env.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    venv = tmp_path / '.venv'
    monkeypatch.setattr(module, 'VENV', venv)
    monkeypatch.setattr(module, 'PYTHON', venv / 'bin' / 'python')
    monkeypatch.setattr(module, 'STAMP', venv / 'installed')
    monkeypatch.setattr(module, 'check_machine', lambda: None)
    monkeypatch.delenv('FORCE_CUDA', raising=False)
    monkeypatch.setenv('MMCV_WITH_OPS', '0')
    return module


class Machine:
    """Stands in for the processes that the set-up starts."""

    def __init__(self, module, monkeypatch, **answers):
        self.module = module
        self.answers = {'import cv2': '', module.CUDA_OF_TORCH: '',
                        module.OPERATORS: 'not available', **answers}
        self.commands = []
        self.fails_at = None
        monkeypatch.setattr(module, 'run', self.run)
        monkeypatch.setattr(module, 'answer', self.answer)

    def run(self, *command):
        line = ' '.join(map(str, command))
        self.commands.append(line)
        if '-m venv' in line:
            self.module.VENV.mkdir(exist_ok=True)
        return int(self.fails_at is not None and self.fails_at in line)

    def answer(self, code):
        result = self.answers.get(code)
        return result.pop(0) if isinstance(result, list) else result

    def first(self, *words):
        """Index of the first command that holds all the words."""
        return next(i for i, line in enumerate(self.commands)
                    if all(word in line.split() for word in words))


def test_order(setup_env, monkeypatch):
    machine = Machine(setup_env, monkeypatch)
    setup_env.main()
    pins = setup_env.read_pins(setup_env.ROOT / 'requirements.txt')
    mmcv = machine.first('--no-build-isolation', pins['mmcv'])
    for name in ('torch', 'torchvision', 'setuptools', 'wheel', 'ninja', 'psutil'):
        assert machine.first(pins[name]) < mmcv
    assert mmcv < machine.first('--requirement') < machine.first('--no-deps', '--editable')
    assert os.environ['MMCV_WITH_OPS'] == '1'
    assert setup_env.STAMP.exists()


def test_setuptools_still_has_pkg_resources(setup_env):
    pin = setup_env.read_pins(setup_env.ROOT / 'requirements.txt')['setuptools']
    assert int(pin.split('==')[1].split('.')[0]) < 81


def test_kept_wheel_without_operators_is_built_anew(setup_env, monkeypatch):
    machine = Machine(setup_env, monkeypatch, **{setup_env.OPERATORS: [None, 'not available']})
    setup_env.main()
    assert machine.first('--no-cache-dir', '--force-reinstall', 'mmcv==2.1.0')
    assert setup_env.STAMP.exists()


def test_missing_operators_are_an_error(setup_env, monkeypatch):
    Machine(setup_env, monkeypatch, **{setup_env.OPERATORS: [None, None]})
    with pytest.raises(setup_env.SetupError, match='without the operators'):
        setup_env.main()
    assert not setup_env.STAMP.exists()


def test_operators_for_the_gpu_are_checked(setup_env, monkeypatch):
    machine = Machine(setup_env, monkeypatch, **{
        setup_env.CUDA_OF_TORCH: '12.8', setup_env.OPERATORS: ['not available', '12.8']})
    monkeypatch.setenv('CUDA_HOME', '/opt/cuda')
    setup_env.main()
    assert machine.first('--no-cache-dir', 'mmcv==2.1.0')


def test_gpu_without_compiler_names_the_remedy(setup_env, monkeypatch):
    Machine(setup_env, monkeypatch, **{setup_env.CUDA_OF_TORCH: '12.8'})
    monkeypatch.delenv('CUDA_HOME', raising=False)
    monkeypatch.setattr(setup_env.shutil, 'which', lambda name: None)
    with pytest.raises(setup_env.SetupError, match='CUDA_VISIBLE_DEVICES= make setup'):
        setup_env.main()


def test_failing_pip_leaves_no_stamp(setup_env, monkeypatch):
    machine = Machine(setup_env, monkeypatch)
    setup_env.main()
    machine.fails_at = 'torch=='
    with pytest.raises(setup_env.SetupError, match='(?s)pip install .*run the same command again'):
        setup_env.main()
    assert not setup_env.STAMP.exists()


def test_goes_on_where_it_was_stopped(setup_env, monkeypatch):
    machine = Machine(setup_env, monkeypatch)
    machine.answers[setup_env.USABLE] = 'True'
    packages = setup_env.VENV / 'lib' / 'python3.11' / 'site-packages'
    for name in ('whole-1.dist-info/RECORD', 'half-1.dist-info/METADATA'):
        (packages / name).parent.mkdir(parents=True)
        (packages / name).touch()
    setup_env.main()
    assert [path.name for path in packages.iterdir()] == ['whole-1.dist-info']
    assert not any('-m venv' in line for line in machine.commands)


def test_opencv_without_libgl(setup_env, monkeypatch):
    machine = Machine(setup_env, monkeypatch, **{'import cv2': [None, '']})
    setup_env.main()
    assert 'opencv-python-headless==' in machine.commands[machine.first('--force-reinstall')]


def test_missing_compiler(root, tmp_path):
    result = subprocess.run(
        [sys.executable, root / 'tools' / 'setup_env.py'], capture_output=True, text=True,
        env={**os.environ, 'CXX': str(tmp_path / 'none')})
    assert result.returncode == 2
    assert result.stderr.startswith('setup: no C++ compiler')
    assert 'Traceback' not in result.stderr


def test_other_python(setup_env, root, monkeypatch):
    spec = importlib.util.spec_from_file_location('setup_env', root / 'tools' / 'setup_env.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.sys, 'version_info', (3, 13, 1))
    with pytest.raises(module.SetupError, match=r'Python 3\.13\.1 .*PYTHON='):
        module.check_machine()
