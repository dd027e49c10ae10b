"""Tells mistakes that a user can mend without a traceback."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .terminal import prepare_terminal


class UserError(Exception):
    """A mistake in the command, the config or the files; the message says what to do.

    The command lines print it without a traceback and exit with status 2.
    """


def words_of(error: Exception) -> str:
    """The message of an exception; ``str`` of a KeyError is the repr of its message."""
    return str(error.args[0] if isinstance(error, KeyError) and error.args else error)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM during training; the message says how to go on."""


@contextmanager
def report_user_errors() -> Iterator[None]:
    """Wrap a command line: a :class:`UserError` prints its message and exits with status 2.

    Ctrl-C exits with status 130, and so does SIGTERM, by which job schedulers end a run. Any other
    exception is a bug and keeps its traceback. Of the processes of a distributed run, one on each
    machine speaks. The terminal is prepared first.
    """
    prepare_terminal()
    previous = signal.signal(signal.SIGTERM, _interrupt_in(os.getpid()))
    try:
        yield
    except UserError as error:
        say(f'error: {error}')
        raise SystemExit(2) from None
    except KeyboardInterrupt as interrupt:
        say(str(interrupt) or 'interrupted')
        raise SystemExit(130) from None
    finally:
        signal.signal(signal.SIGTERM, previous)


def _interrupt_in(process: int) -> Callable:
    """A handler of signals that raises KeyboardInterrupt in one process.

    Forked workers inherit it, and must end silently when their pool terminates them.
    """
    def interrupt(number: int, frame: object) -> None:
        if os.getpid() == process:
            raise KeyboardInterrupt
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    return interrupt


def say(text: str) -> None:
    """Print a line to the user's terminal, once on each machine."""
    if os.environ.get('LOCAL_RANK', '0') == '0':
        sys.stdout.flush()
        print(text, file=sys.stderr)
