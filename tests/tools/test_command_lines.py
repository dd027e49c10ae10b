"""The command lines: arguments, exit statuses, and that they run from anywhere."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from mmqtvit.apis import report_user_errors

from ..helpers.toy import write_toy

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / 'tools'


def tool(name):
    spec = importlib.util.spec_from_file_location(f'tools_{name}', TOOLS / f'{name}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def status(name, *argv):
    """Exit status of a tool run in this process, for what ends before anything is built."""
    with pytest.raises(SystemExit) as exit_, report_user_errors():
        tool(name).main([str(argument) for argument in argv])
    return exit_.value.code


def environment(**more):
    """Of a fresh process that finds the package, without threads that hinder each other."""
    path = os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')]).rstrip(os.pathsep)
    return {**os.environ, 'PYTHONPATH': path, 'OMP_NUM_THREADS': '1', 'PYTHON': sys.executable,
            'PYTHONWARNINGS': 'ignore', **more}


def run(*command, cwd, **more):
    return subprocess.run([str(part) for part in command], cwd=cwd, env=environment(**more),
                          capture_output=True, text=True)


@pytest.fixture()
def local_rank(monkeypatch):
    monkeypatch.setenv('LOCAL_RANK', '0')


@pytest.mark.usefixtures('local_rank')
class TestMistakes:

    def test_no_config(self, capsys):
        assert status('train') == 2
        assert status('train', 'configs/missing.py') == 2
        assert 'configs/missing.py not found' in capsys.readouterr().err

    def test_no_checkpoint(self, tmp_path, capsys):
        assert status('test', write_toy(tmp_path)) == 2
        assert status('test', tmp_path / 'toy_mmseg.py', tmp_path / 'missing.pth') == 2
        assert 'missing.pth is not there' in capsys.readouterr().err

    def test_bad_option(self, tmp_path, capsys):
        assert status('train', write_toy(tmp_path), '--cfg-options', 'train_cfg') == 2
        assert "got 'train_cfg'" in capsys.readouterr().err

    @pytest.mark.skipif(torch.cuda.is_available(), reason='works with a GPU')
    def test_amp_without_a_gpu(self, tmp_path, capsys):
        assert status('train', write_toy(tmp_path), '--amp') == 2
        assert 'Leave out --amp' in capsys.readouterr().err

    def test_auto_scale_lr(self, tmp_path, capsys):
        assert status('train', write_toy(tmp_path), '--auto-scale-lr') == 2
        assert 'auto_scale_lr.base_batch_size=16' in capsys.readouterr().err

    def test_launcher_without_torchrun(self, tmp_path, capsys, monkeypatch):
        monkeypatch.delenv('RANK', raising=False)
        assert status('train', write_toy(tmp_path), '--launcher', 'pytorch') == 2
        assert 'dist_train.sh' in capsys.readouterr().err

    def test_tta_without_a_recipe(self, tmp_path, capsys):
        path = Path(write_toy(tmp_path))
        path.write_text(path.read_text() + 'del tta_model\n')
        torch.save({}, tmp_path / 'a.pth')
        assert status('test', path, tmp_path / 'a.pth', '--tta') == 2
        assert 'tta_model' in capsys.readouterr().err


def test_data_set_missing_from_another_folder(tmp_path):
    result = run(sys.executable, TOOLS / 'train.py', ROOT / 'configs/upernet_qtvit1_ade20k.py',
                 cwd=tmp_path)
    assert result.returncode == 2
    lines = result.stderr.strip().splitlines()
    assert lines[0] == f'error: the data set is not there. Missing, seen from {tmp_path}:'
    assert lines[1] == '  data/ade/ADEChallengeData2016/images/training'
    assert lines[-1].endswith('make demo')
    assert len(lines) < 15
    assert not any(tmp_path.iterdir())


def test_malicious_file_from_the_command_line(tmp_path):
    path = write_toy(tmp_path)
    # os.system('touch marker'), as a file of torch before it made zip archives begins
    command = b'touch marker'
    (tmp_path / 'bad.pth').write_bytes(
        b'\x80\x02cposix\nsystem\nX' + len(command).to_bytes(4, 'little') + command + b'\x85R.')
    result = run(sys.executable, TOOLS / 'test.py', path, tmp_path / 'bad.pth', cwd=tmp_path)
    assert result.returncode == 2
    assert 'Traceback' not in result.stderr
    assert 'posix.system' in result.stderr
    assert not (tmp_path / 'marker').exists()


def start_and_interrupt(command, marker, cwd):
    """Press Ctrl-C when a line has ``marker``; return the exit status and all output.

    All processes of the terminal get the signal, those that load data too.
    """
    process = subprocess.Popen(
        [str(part) for part in command], cwd=cwd, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        # A shell starts background jobs with Ctrl-C switched off.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    output = ''
    try:
        for line in process.stdout:
            output += line
            if marker in line:
                os.killpg(process.pid, signal.SIGINT)
                marker = '\n\n'  # in no line
        return process.wait(timeout=60), output
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def test_ctrl_c(tmp_path):
    path = write_toy(tmp_path)
    code, output = start_and_interrupt(
        [sys.executable, TOOLS / 'train.py', path, '--work-dir', tmp_path / 'run', '--cfg-options',
         'train_cfg.max_iters=100000', 'train_cfg.val_interval=100000',
         'train_dataloader.num_workers=2'],
        'Saving checkpoint at 4 iterations', tmp_path)
    assert code == 130, output[-3000:]
    assert 'Traceback' not in output
    last = (tmp_path / 'run/last_checkpoint').read_text()
    assert f'the last checkpoint is {last}\nTo go on: the same command with --resume' in output


@pytest.mark.slow()
@pytest.mark.skipif(torch.cuda.is_available(), reason='checks processes without a GPU')
def test_two_processes(tmp_path):
    path = write_toy(tmp_path)
    config = Path(path)
    config.write_text(config.read_text() + (
        "custom_imports = dict(imports=['tests.tools.weights_hook'])\n"
        "custom_hooks = [dict(type='HashWeights')]\n"))
    with socket.socket() as taken:  # as by another training on the machine
        with suppress(OSError):
            taken.bind(('127.0.0.1', 29500))
            taken.listen()
        result = run('bash', TOOLS / 'dist_train.sh', path, 2, '--work-dir', tmp_path / 'run',
                     cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    hashes = [(tmp_path / f'run/rank{rank}.txt').read_text() for rank in (0, 1)]
    assert hashes[0] == hashes[1]
    result = run('bash', TOOLS / 'dist_test.sh', path, tmp_path / 'run/iter_4.pth', 2,
                 '--work-dir', tmp_path / 'test', cwd=tmp_path, PORT='29732')
    assert result.returncode == 0, result.stderr
    assert 'mIoU' in result.stdout + result.stderr


@pytest.mark.parametrize('script', ['dist_train.sh', 'dist_test.sh'])
def test_usage_of_the_scripts(tmp_path, script):
    result = run('bash', TOOLS / script, 'a.py', cwd=tmp_path)
    assert result.returncode == 2
    assert script in result.stderr
