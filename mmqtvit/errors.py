"""The error that is the user's to mend."""


class UserError(Exception):
    """A mistake in the command, the config or the files; the message says what to do.

    The command lines print it without a traceback and exit with status 2.
    """
