"""matplotlib without a screen."""

from pathlib import Path

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.text import Text  # noqa: E402

from ..errors import UserError, say  # noqa: E402
from ..fonts import use_font_for  # noqa: E402

__all__ = ['plt', 'save_figure']


def save_figure(figure: plt.Figure, path: Path) -> None:
    """Write a figure as a picture and close it; the folder is made.

    Raises:
        UserError: If the file cannot be written, or its ending is no picture format.
    """
    texts = [text.get_text() for text in figure.findobj(Text)]
    if note := use_font_for([text for text in texts if '$' not in text]):  # of axes are formulas
        say(f'warning: {note}')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise UserError(f'cannot write {path}: {error}') from error
    finally:
        plt.close(figure)
