import subprocess
import sys

import pytest

from mmqtvit.analysis.tables import table
from mmqtvit.terminal import plain_console

from .conftest import ROOT
from .helpers.toy import write_toy
from .tools.test_command_lines import TOOLS, environment

PRINT = """
from mmqtvit.errors import report_user_errors
with report_user_errors():
    print('32×32 … 猫')
"""
WARN = """
import warnings
from mmqtvit.errors import report_user_errors
with report_user_errors():
    warnings.warn('pkg_resources is deprecated as an API.')
    warnings.warn('the data are odd')
"""


def run(*command, **more):
    more = {'PYTHONWARNINGS': '', 'PYTHONUTF8': '0', **more}
    return subprocess.run([sys.executable, *map(str, command)], env=environment(**more),
                          capture_output=True)


@pytest.mark.parametrize('encoding, printed', [
    ('ascii', b'32x32 ... \\u732b\n'), ('latin-1', b'32\xd732 ... \\u732b\n'),
    ('utf-8', '32×32 … 猫\n'.encode())])
def test_terminals_without_a_character(encoding, printed):
    done = run('-c', PRINT, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stdout) == (0, printed)


def test_only_warnings_that_one_can_act_on():
    assert b'the data are odd' in run('-c', WARN).stderr
    assert b'pkg_resources' not in run('-c', WARN).stderr
    assert b'pkg_resources' in run('-c', WARN, PYTHONWARNINGS='always').stderr


def test_the_tools_in_the_locale_c(tmp_path):
    """With class names that it cannot print, in the config and in the annotations."""
    config = write_toy(tmp_path, 'mmdet')
    for path in (tmp_path / 'toy_mmdet.py', tmp_path / 'data/boxes.json'):
        path.write_text(path.read_text(encoding='utf-8').replace('disc', '猫'), encoding='utf-8')
    done = run(TOOLS / 'check_dataset.py', config, '--workers', 0, LC_ALL='C')
    assert done.returncode == 0, done.stderr
    assert b'\\u732b' in done.stdout and b'creating index' not in done.stdout
    done = run(TOOLS / 'train.py', config, '--work-dir', tmp_path / 'run', LC_ALL='C')
    assert done.returncode == 0 and b'Traceback' not in done.stderr, done.stderr
    assert b'Logging error' not in done.stderr and b'Warning' not in done.stderr
    assert b'Average Precision' in done.stdout and b'creating index' not in done.stdout
    log, = (tmp_path / 'run').glob('*/*.log')
    assert '猫' in log.read_text(encoding='utf-8')


NAMES = ('[red]', '[/]', '[bold]box[/bold]', ':car:', '行人', 'a\\[b]')


def test_texts_are_printed_as_they_are(capsys):
    for name in NAMES:
        plain_console(width=80).print(name)
    assert capsys.readouterr().out.split() == list(NAMES)
    rows = table(('[name]', 'number'), [(name, 1) for name in NAMES]).splitlines()
    assert [row.split('|')[1].strip() for row in (rows[0], *rows[2:])] == ['[name]', *NAMES]


def test_all_tables_go_through_it():
    """A console of one's own would read marks of style in names."""
    files = [path for folder in ('mmqtvit', 'tools') for path in (ROOT / folder).rglob('*.py')]
    assert [path.name for path in files if 'Console(' in path.read_text()] == ['terminal.py']
