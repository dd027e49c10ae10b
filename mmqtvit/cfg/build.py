"""What goes wrong while parts of a config are built."""

import pickle
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mmengine import Config

from ..errors import UserError
from ..weights.read import refusal


@contextmanager
def explained(cfg: Config, whole: bool = False) -> Iterator[None]:
    """Turn what goes wrong while a part of a config is built into a UserError that names the part.

    A constructor sees nothing but the config and the files it names, so it is these that are wrong;
    where it says so in words of its own, or Python does, makes no difference. What goes wrong
    outside of constructors is a bug and passes.

    Args:
        cfg (Config): What is built.
        whole (bool): Whether nothing else happens inside, so that all that goes wrong is the
            config's. Defaults to False.
    """
    try:
        yield
    except UserError:
        raise
    except pickle.UnpicklingError as error:  # of init_cfg; load_from was read before
        raise UserError(refusal('a checkpoint that the config names', error)) from error
    except Exception as error:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        builders = [frame for frame in frames if frame.f_code.co_name == 'build_from_cfg']
        if not builders and not whole:
            raise
        kind = builders[-1].f_locals.get('obj_type') if builders else 'the runner'
        raise UserError(f'{cfg.filename}: cannot build {getattr(kind, "__name__", kind)}: '
                        f'{_reason(error)}') from error


def _reason(error: Exception) -> str:
    """The words of an error; its kind and place where it was not raised on purpose."""
    text = str(error.args[0] if isinstance(error, KeyError) and error.args else error).strip()
    if text and isinstance(error, (AssertionError, ImportError, KeyError, OSError, TypeError,
                                     ValueError)):
        return text
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f'{Path(last.filename).name}, line {last.lineno}: {last.line}'
    return ': '.join(filter(None, (type(error).__name__, text))) + f' ({place})'
