"""Tells mistakes that a user can mend without a traceback."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .terminal import prepare_terminal


class UserError(Exception):
    """A mistake in the command, the config or the files; the message says what to do.

    The command lines print it without a traceback and exit with status 2.
    """


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during training; the message says how to go on."""


@contextmanager
def report_user_errors() -> Iterator[None]:
    """Wrap a command line: a :class:`UserError` prints its message and exits with status 2.

    Ctrl-C exits with status 130. Any other exception is a bug and keeps its traceback. Of the
    processes of a distributed run, one on each machine speaks. The terminal is prepared first.
    """
    prepare_terminal()
    try:
        yield
    except UserError as error:
        say(f'error: {error}')
        raise SystemExit(2) from None
    except KeyboardInterrupt as interrupt:
        say(str(interrupt) or 'interrupted')
        raise SystemExit(130) from None


def say(text: str) -> None:
    """Print a line to the user's terminal, once on each machine."""
    if os.environ.get('LOCAL_RANK', '0') == '0':
        sys.stdout.flush()
        print(text, file=sys.stderr)
