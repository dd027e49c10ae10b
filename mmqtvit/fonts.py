"""Fonts that have the characters of the names in pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Optional

KINDS = ('sans-serif', 'monospace')  # that the toolboxes draw in


def use_font_for(texts: Sequence) -> Optional[str]:
    """Have matplotlib draw texts as they are, in an installed font that has all their characters.

    Its default font, DejaVu, has no Chinese, Japanese or Korean ones, and draws boxes in their
    place. matplotlib's settings are left alone where the default font has all characters.

    Args:
        texts (Sequence[str]): What will be drawn.

    Returns:
        str | None: What to tell the user where no font has them all.
    """
    if any('$' in text for text in texts):  # two of them would enclose a formula
        import matplotlib
        matplotlib.rcParams['text.parse_math'] = False
    characters = {character for text in texts for character in text if character.isprintable()}
    if all(map(str.isascii, characters)):
        return None
    from matplotlib import font_manager, rcParams  # here: most names need none of it
    defaults = [font_manager.findfont(font_manager.FontProperties(family=[kind]))
                for kind in KINDS]
    lacking = set.union(*(_lacking(path, characters) for path in defaults))
    if not lacking:
        return None
    for path in sorted(font_manager.findSystemFonts(), key=_unlike_a_plain_font):
        if not _lacking(path, characters):
            font_manager.fontManager.addfont(path)
            name = font_manager.FontProperties(fname=path).get_name()
            for kind in KINDS:
                rcParams[f'font.{kind}'] = [name, *rcParams[f'font.{kind}']]
            return None
    return (f'no installed font has the characters {"".join(sorted(lacking))}, in whose place '
            'pictures show boxes. Noto Sans CJK has those of Chinese, Japanese and Korean; Debian '
            'and Ubuntu: apt-get install fonts-noto-cjk')


def _lacking(path: str, characters: set) -> set:
    """The characters that a font file does not have."""
    from matplotlib.font_manager import get_font
    try:
        known = get_font(path).get_charmap()
    except RuntimeError:  # of a format that matplotlib does not draw, such as coloured pictures
        return characters
    return {character for character in characters if ord(character) not in known}


def _unlike_a_plain_font(path: str) -> tuple:
    name = Path(path).name
    return 'Sans' not in name, 'Regular' not in name, name
