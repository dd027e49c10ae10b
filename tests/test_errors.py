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
