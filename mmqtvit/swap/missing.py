"""Modules and classes that a config names and that are not here."""

import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

from mmengine import Config

from ..cfg.tree import as_list, typed_paths
from ..errors import words_of
from ..toolboxes.require import IMPORTABLE
from .refuse import SwapRefused

NOT_REGISTERED = re.compile(r'(\S+) is not in the .+ registry')  # how mmengine says it


def import_modules(cfg: Config) -> dict:
    """Import the modules of a config's ``custom_imports`` one after another.

    Returns:
        dict[str, str]: Names of those that cannot be imported, and why.
    """
    failed = {}
    for name in as_list((cfg.get('custom_imports') or {}).get('imports')):
        try:
            import_module(name)
        except Exception as error:  # a module can fail in any way
            failed[name] = f'{type(error).__name__}: {error}'
    return failed


def missing_class(error: Exception) -> str:
    """Name of the class that a registry did not find; '' if building failed for another reason."""
    found = NOT_REGISTERED.match(words_of(error)) if isinstance(error, KeyError) else None
    return found[1] if found else ''


def refusal(part: dict, path: tuple, name: str, failed: dict) -> SwapRefused:
    """The error that a class of the swapped model is not registered, and what to do.

    Args:
        part (dict): The part of the model's config that has the backbone.
        path (tuple): Of the part.
        name (str): Of the class, as in the config.
        failed (dict[str, str]): From :func:`import_modules`.
    """
    place = next((place for place, node in typed_paths(part, path) if node['type'] == name), path)
    package = name.split('.')[0]
    if failed:
        remedy = '; '.join(f'custom_imports names {module}, which cannot be imported ({why})'
                           for module, why in failed.items()) + f': {IMPORTABLE}'
    elif '.' in name and find_spec(package) is None:
        remedy = f'the package {package} must be importable: {IMPORTABLE}'
    else:
        remedy = f'name the module that registers it in custom_imports, and {IMPORTABLE}'
    where = '.'.join(map(str, place))
    return SwapRefused(f'{where} is a {name}, which is not registered; {remedy}')


def not_here(failed: dict) -> Iterator:
    """Warnings of modules that are not here, of which the swapped model needs none."""
    for module, why in failed.items():
        yield (f'custom_imports names {module}, which cannot be imported here ({why}); the swapped '
               'model needs nothing of it, training may')
