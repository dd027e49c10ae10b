"""What was found in data sets, as text."""

from collections.abc import Sequence
from typing import Optional

from rich.table import Table

from ...terminal import plain_console
from .findings import Examination


def print_report(examinations: Sequence, shown: int = 3) -> None:
    """Print the findings by kind, those that break training first, and a table of the classes.

    Args:
        examinations (Sequence[Examination]): From :func:`examine`.
        shown (int): Of each kind of finding, how many that differ are shown, and how many places
            of those that are equal. Defaults to 3.
    """
    table = class_table(examinations)
    if table.row_count:
        plain_console().print(table)
    for one in examinations:
        print(f'{", ".join(one.keys)}: {one.kind}, {one.num_samples} samples')
        for line in finding_lines(one, shown):
            print(line)


def finding_lines(examination: Examination, shown: int) -> list:
    """Each kind of finding with its number; equal ones once, with their first places."""
    kinds = {}
    for finding in examination.findings:
        kind = kinds.setdefault((not finding.breaks, finding.kind), {})
        kind.setdefault(finding.detail, []).append(finding.place)
    lines = []
    for (harmless, kind), places in sorted(kinds.items(), key=lambda pair: pair[0][0]):
        number = sum(map(len, places.values()))
        lines.append(f'  {"warning" if harmless else "ERROR"}: {kind} ({number})')
        details = list(places)[:shown]
        for detail in details:
            lines += _equal_lines(detail, places[detail], examination.num_samples, shown)
        if more := number - sum(len(places[detail]) for detail in details):
            lines.append(f'    and {more} more')
    return lines


def _equal_lines(detail: str, places: Sequence, num_samples: int, shown: int) -> list:
    if len(places) == 1:
        return [f'    {places[0]}' + (f': {detail}' if detail else '')]
    number = f'in all {num_samples}' if len(places) == num_samples else f'in {len(places)}'
    lines = [f'    {detail}, {number}:'] if detail else []
    lines += [f'    {"  " if detail else ""}{place}' for place in places[:shown]]
    if len(places) > shown:
        lines.append(f'    {"  " if detail else ""}and {len(places) - shown} more')
    return lines


def class_table(examinations: Sequence) -> Table:
    """Of each class the boxes, the share of the pixels or the images, and in how many images."""
    table = Table(title='What the labels hold')
    table.add_column('class', no_wrap=True, overflow='ellipsis')
    counted = [one for one in examinations if one.amounts]
    rows = {}
    for one in counted:
        split = one.keys[0].split('_')[0]
        table.add_column(f'{split}: {"% of pixels" if one.unit == "pixels" else one.unit}',
                         justify='right')
        if one.unit != 'images':
            table.add_column('in images', justify='right')
        for label in {**dict.fromkeys(range(len(one.classes or ()))), **one.amounts}:
            rows.setdefault(_class_name(one, label), None)
    for name in rows:
        cells = []
        for one in counted:
            labels = {_class_name(one, label): label for label in one.amounts}
            cells += _cells(one, labels.get(name))
        table.add_row(name, *cells)
    return table


def _class_name(one: Examination, label: int) -> str:
    known = one.classes is not None and 0 <= label < len(one.classes)
    return str(one.classes[label]) if known else f'label {label}'


def _cells(one: Examination, label: Optional[int]) -> list:
    amount, num_images = one.amounts.get(label, 0), one.num_images.get(label, 0)
    if one.unit == 'pixels':
        amount = f'{100 * amount / sum(one.amounts.values()):.2f}'
    return [str(amount)] + ([str(num_images)] if one.unit != 'images' else [])
