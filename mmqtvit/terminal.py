"""What the command lines print: readable on any terminal, and without what nobody can act on."""

import builtins
import codecs
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, partialmethod
from importlib import import_module
from typing import Optional
from unittest import mock

from rich.console import Console

#: Characters of the tools for terminals that have ASCII or Latin-1 alone; others are escaped.
ASCII = {'×': 'x', '…': '...', '–': '-', '→': '->', '·': '.', '≥': '>=', '≤': '<='}
#: Warnings about the insides of the toolboxes, as regular expressions of their beginnings.
INTERNAL = (
    'pkg_resources is deprecated', 'Deprecated call to `pkg_resources',
    '``build_loss`` would be deprecated', 'Default ``avg_non_ignore`` is False',
    'The draw is False', 'Checkpoint is not loaded', 'weights is None', 'Failed to add <class',
    'torch.meshgrid: in an upcoming release', r'`(data_root|reduce_zero_label)` will be deprecated',
    'The `size_divisor` and `size` are both')
#: What mmengine logs whenever a toolbox has no registry of functions of its own.
NO_REGISTRY = 'Failed to search registry with scope'


def prepare_terminal() -> None:
    """Let no character stop a command line, and hide the toolboxes' warnings to their authors.

    Where the user chose warnings, with ``-W`` or ``PYTHONWARNINGS``, they stay as chosen.
    """
    codecs.register_error('mmqtvit', _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, 'reconfigure'):
            stream.reconfigure(errors='mmqtvit')
    if not sys.warnoptions:
        for message in INTERNAL:
            warnings.filterwarnings('ignore', message)


def plain_console(**options) -> Console:
    """A console that prints texts as they are: names may hold [brackets] and :colons:.

    Args:
        **options: Of rich's ``Console``.
    """
    return Console(markup=False, emoji=False, highlight=False, **options)


@contextmanager
def quiet_toolbox(coco_package: Optional[str]) -> Iterator[None]:
    """Keep pycocotools and mmengine from printing what they do meanwhile; results are printed.

    Log files are written in UTF-8, whatever the terminal has.

    Args:
        coco_package (str, optional): Through what the toolbox in use reads COCO's files,
            'pycocotools' or one like it; it is imported.
    """
    from mmengine import logging as mmengine_logging
    told = mmengine_logging.print_log

    def print_log(message: str, *args, **kwargs) -> None:
        if not str(message).startswith(NO_REGISTRY) or '"function"' not in message:
            told(message, *args, **kwargs)

    def print_results(*words, **kwargs) -> None:
        if str(words[0] if words else '').startswith(' Average'):
            builtins.print(*words, **kwargs)

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(mmengine_logging, 'print_log', print_log))
        stack.enter_context(mock.patch.object(
            logging.FileHandler, '__init__',
            partialmethod(logging.FileHandler.__init__, encoding='utf-8')))
        if coco_package:
            coco, cocoeval = (
                import_module(f'{coco_package}.{name}') for name in ('coco', 'cocoeval'))
            for module in (coco, cocoeval):
                stack.enter_context(
                    mock.patch.object(module, 'print', print_results, create=True))
            stack.enter_context(mock.patch.object(  # JSON is UTF-8 whatever the terminal has
                coco, 'open', partial(open, encoding='utf-8'), create=True))
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Without the toolboxes' warnings and lines of the log about what the user did not choose."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            yield
    finally:
        logging.disable(disabled)


def _in_ascii(error: UnicodeError) -> tuple:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start:error.end]
    return ''.join(ASCII.get(character) or character.encode('ascii', 'backslashreplace').decode()
                   for character in characters), error.end
