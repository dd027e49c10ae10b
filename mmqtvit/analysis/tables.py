"""Tables on the screen and in files."""

import csv
import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from rich.box import MARKDOWN
from rich.table import Table

from ..errors import UserError
from ..terminal import plain_console


def table(header: Sequence, rows: Sequence) -> str:
    """Format rows as a Markdown table, numbers to the right.

    Args:
        header (Sequence[str]): Titles of the columns.
        rows (Sequence[Sequence]): One value for each column; None is left blank.
    """
    grid = Table(box=MARKDOWN)
    for title, *column in zip(header, *rows):
        numeric = all(isinstance(value, (int, float, type(None))) for value in column)
        grid.add_column(title, justify='right' if numeric else 'left', no_wrap=True)
    for row in rows:
        grid.add_row(*map(_text, row))
    out = StringIO()
    # As wide as it must be: rich would cut columns to the screen's width.
    plain_console(file=out, width=10_000, color_system=None).print(grid)
    return '\n'.join(line.rstrip() for line in out.getvalue().splitlines()).strip('\n')


def _text(value: object) -> str:
    if value is None:
        return ''
    if isinstance(value, float):
        return f'{value:.4g}' if abs(value) < 1000 else f'{value:.0f}'
    return str(value)


def write_json(path: Path, content: object) -> None:
    """Write JSON; the folder is made."""
    _write(path, json.dumps(content, indent=1) + '\n')


def write_csv(path: Path, records: Sequence) -> None:
    """Write dicts of the same keys as CSV; the folder is made."""
    out = StringIO()
    writer = csv.DictWriter(out, list(records[0]), lineterminator='\n')
    writer.writeheader()
    writer.writerows(records)
    _write(path, out.getvalue())


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')
    except OSError as error:
        raise UserError(f'cannot write {path}: {error.strerror}') from error
