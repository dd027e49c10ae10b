"""Mistakes that a user can mend, told without a traceback."""

import sys
from contextlib import contextmanager
from typing import Iterator


class UserError(Exception):
    """A mistake in the command, the config or the files; the message says what to do."""


@contextmanager
def report_user_errors() -> Iterator[None]:
    """Wrap a command line: a :class:`UserError` prints its message and exits with status 2.

    Ctrl-C exits with status 130. Any other exception is a bug and keeps its traceback.
    """
    try:
        yield
    except UserError as error:
        print(f'error: {error}', file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print('interrupted; training goes on from its last checkpoint with --resume',
              file=sys.stderr)
        raise SystemExit(130) from None
