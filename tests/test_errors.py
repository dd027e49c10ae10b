import multiprocessing
import os
import signal

import pytest

from mmqtvit.apis import Interrupted, UserError, report_user_errors


def end(error):
    with pytest.raises(SystemExit) as exit_, report_user_errors():
        raise error
    return exit_.value.code


def test_user_error(capsys):
    assert end(UserError('no such file')) == 2
    assert capsys.readouterr().err == 'error: no such file\n'


def test_interrupt(capsys):
    assert end(Interrupted('go on with --resume')) == 130
    assert end(KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == 'go on with --resume\ninterrupted\n'


def test_a_bug_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError), report_user_errors():
        print(1 / 0)


def test_one_process_speaks(capsys, monkeypatch):
    monkeypatch.setenv('LOCAL_RANK', '1')
    assert end(UserError('no such file')) == 2
    assert capsys.readouterr().err == ''


def test_sigterm_ends_a_tool_as_ctrl_c_does(capsys):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as exit_, report_user_errors():
        os.kill(os.getpid(), signal.SIGTERM)
    assert exit_.value.code == 130
    assert capsys.readouterr().err == 'interrupted\n'
    assert signal.getsignal(signal.SIGTERM) is before


def test_sigterm_ends_forked_workers_silently(capfd):
    with report_user_errors(), multiprocessing.get_context('fork').Pool(1) as pool:
        assert pool.apply(abs, (-1, )) == 1
        pool.terminate()
        pool.join()
    assert capfd.readouterr().err == ''


def test_every_tool_is_wrapped(root):
    tools = {path.name: path.read_text() for path in (root / 'tools').rglob('*.py')}
    wrapped = "if __name__ == '__main__':\n    with report_user_errors():\n"
    assert {name for name, text in tools.items() if wrapped not in text} == {'setup_env.py'}
    assert 'signal.signal(signal.SIGTERM, ' in tools['setup_env.py']
