"""Make .venv with the packages of requirements.txt, in the order that works.

``make setup`` calls it when there is something to do. It needs nothing but the standard library,
and is written so that an older Python gets as far as saying that it is too old.
"""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional, Union

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / '.venv'
PYTHON = VENV / 'bin' / 'python'
# The Makefile compares its age with that of requirements.txt.
STAMP = VENV / 'installed'
# mmcv's build imports these. Without torch it leaves its operators out and says nothing. numpy and
# torchvision come along so that pip picks no other versions of them.
BEFORE_MMCV = ('setuptools', 'wheel', 'ninja', 'psutil', 'numpy', 'torch', 'torchvision')
HEARTBEAT = 60  # seconds between two signs of life

USABLE = 'import pip, sys; print(sys.version_info[:2] == (3, 11))'
CUDA_OF_TORCH = 'import torch; print(torch.version.cuda if torch.cuda.is_available() else "")'
OPERATORS = 'import mmcv._ext; print(mmcv._ext.get_compiling_cuda_version())'


class SetupError(Exception):
    """What the user is told, in place of a traceback."""


def say(text: str) -> None:
    print(f'[setup {time.strftime("%H:%M:%S")}] {text}', flush=True)


def read_pins(path: Path) -> dict:
    """Maps the packages of a requirements file to their pins, such as ``torch==2.9.1``."""
    text = path.read_text(encoding='utf-8')
    lines = (line.partition('#')[0].strip() for line in text.splitlines())
    return {re.split('[=<>]', line)[0]: line for line in lines if line}


def check_machine() -> None:
    """Raises SetupError where Python, its headers or the compiler are missing."""
    version = '.'.join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] != (3, 11):
        raise SetupError(f'this is Python {version} ({sys.executable}), the pinned packages are '
                         'for Python 3.11. Choose another: make setup PYTHON=/path/to/python3.11')
    if not Path(sysconfig.get_path('include'), 'Python.h').is_file():
        raise SetupError(f'{sys.executable} came without Python.h, which the compiler needs for '
                         "mmcv's operators (on Debian and Ubuntu: apt-get install python3.11-dev)")
    compiler = os.environ.get('CXX', 'c++')
    if not shutil.which(compiler):
        raise SetupError(f"no C++ compiler: {compiler} was not found, mmcv's operators need one "
                         '(on Debian and Ubuntu: apt-get install g++; CXX names another)')


def run(*command: Union[str, Path]) -> int:
    """Runs a command, says each minute that it is still at it, and returns its exit status."""
    start = time.monotonic()
    with subprocess.Popen([str(part) for part in command], cwd=ROOT) as process:
        try:
            while True:
                try:
                    return process.wait(HEARTBEAT)
                except subprocess.TimeoutExpired:
                    say(f'  still at it, {(time.monotonic() - start) / 60:.0f} min')
        finally:
            process.terminate()  # where this one was interrupted alone


def answer(code: str) -> Optional[str]:
    """What a line of Python prints in the environment, or None if it fails."""
    try:
        result = subprocess.run([str(PYTHON), '-c', code], cwd=ROOT, capture_output=True, text=True)
    except OSError:  # no .venv, or a broken one
        return None
    return result.stdout.strip() if result.returncode == 0 else None


def pip_install(*arguments: Union[str, Path]) -> None:
    # Twice quiet: no list of what comes along and no warnings, but errors.
    if run(PYTHON, '-m', 'pip', '--disable-pip-version-check', 'install', '-qq', *arguments):
        raise SetupError(f'pip install {" ".join(map(str, arguments))}\n'
                         'did not succeed; what pip said is above. If it was the network, run the '
                         'same command again: what is already there is kept.')


@contextmanager
def one_at_a_time() -> Iterator:
    """Waits for a set-up in another terminal: two pips in one .venv break each other's work."""
    with open(__file__, 'rb+') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say('another set-up is at work here; waiting for it')
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_venv() -> None:
    """Makes .venv, or takes the one that is there if its pip runs."""
    if answer(USABLE) == 'True':
        say('going on with the .venv that is there')
        forget_half_installed()
        return
    say(f'making .venv with {sys.executable}')
    if run(sys.executable, '-m', 'venv', '--clear', VENV):
        raise SetupError('could not make .venv; what venv said is above '
                         '(on Debian and Ubuntu: apt-get install python3.11-venv)')


def forget_half_installed() -> None:
    """Has pip install anew where it was stopped: it cannot replace a package without RECORD."""
    for folder in VENV.glob('lib/*/site-packages/*.dist-info'):
        if not (folder / 'RECORD').is_file():
            shutil.rmtree(folder)


def cuda_for_operators() -> str:
    """CUDA version that mmcv will be built for, by mmcv's own rule; '' for the CPU only."""
    version = answer(CUDA_OF_TORCH)
    if version is None:
        raise SetupError('torch does not import. See why:\n    .venv/bin/python -c "import torch"')
    if not version and os.environ.get('FORCE_CUDA') == '1':
        version = answer('import torch; print(torch.version.cuda or "")')
    if version and not (shutil.which('nvcc') or os.environ.get('CUDA_HOME')):
        raise SetupError(
            f"mmcv's operators would be built for CUDA {version}, but nvcc was not found. Install "
            f'the CUDA toolkit {version}, or build them for the CPU only:\n'
            '    CUDA_VISIBLE_DEVICES= make setup')
    return version or ''


def operators_work(cuda: str) -> bool:
    compiled_for = answer(OPERATORS)
    return compiled_for is not None and (not cuda or compiled_for != 'not available')


def install(pins: dict) -> None:
    """Installs everything, in an order that builds mmcv with its operators."""
    say('1 of 4: torch and what builds mmcv: 2 to 5 minutes, 3 GB to download, 7 GB on disk')
    pip_install(*(pins[name] for name in BEFORE_MMCV))

    cuda = cuda_for_operators()
    target = f'the CPU and CUDA {cuda}' if cuda else 'the CPU'
    say(f'2 of 4: mmcv with its operators for {target}: seconds where pip has kept the wheel,')
    say('        otherwise compiled from source, 10 to 20 minutes on two cores')
    mmcv = ('--no-build-isolation', '--no-deps', pins['mmcv'])
    pip_install(*mmcv)

    say('3 of 4: the toolboxes and the rest: 1 minute')
    pip_install('--no-build-isolation', '--requirement', ROOT / 'requirements.txt')
    replace_opencv(pins['opencv-python'])
    if not operators_work(cuda):
        say('        the mmcv wheel that pip had kept lacks these operators or was built for')
        say('        another torch; compiling it anew, 10 to 20 minutes on two cores')
        pip_install('--force-reinstall', '--no-cache-dir', *mmcv)
        if not operators_work(cuda):
            raise SetupError('mmcv was built without the operators it needs. See why:\n'
                             f'    .venv/bin/python -c "{OPERATORS}"')

    say('4 of 4: mmqtvit itself: seconds')
    pip_install('--no-build-isolation', '--no-deps', '--editable', ROOT)


def replace_opencv(pin: str) -> None:
    """Where OpenCV's usual build lacks libGL, puts the one without windows in its place."""
    if answer('import cv2') is not None:
        return
    headless = pin.replace('opencv-python', 'opencv-python-headless')
    say(f'        {pin} does not import here, as without libGL; taking {headless}')
    pip_install('--force-reinstall', '--no-deps', headless)
    if answer('import cv2') is None:
        raise SetupError('OpenCV does not import. See why:\n    .venv/bin/python -c "import cv2"')


def main() -> None:
    start = time.monotonic()
    check_machine()
    STAMP.unlink(missing_ok=True)
    make_venv()
    # Said aloud, for a shell that switched mmcv's operators off for another project.
    os.environ['MMCV_WITH_OPS'] = '1'
    install(read_pins(ROOT / 'requirements.txt'))
    STAMP.touch()
    say(f'done in {(time.monotonic() - start) / 60:.1f} min')


if __name__ == '__main__':
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        with one_at_a_time():
            main()
    except SetupError as error:
        print(f'setup: {error}', file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print('setup: stopped; the same command goes on from here', file=sys.stderr)
        sys.exit(130)
