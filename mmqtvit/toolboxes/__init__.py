"""What is particular to each toolbox: an adapter for each, in a file of its own."""

from importlib import import_module
from pkgutil import iter_modules

from .base import Reader, Toolbox, get_toolbox, names, register
from .require import find_toolbox, require_toolbox

for _module in iter_modules(__path__):
    import_module(f'{__name__}.{_module.name}')

__all__ = [
    'Reader', 'Toolbox', 'find_toolbox', 'get_toolbox', 'names', 'register', 'require_toolbox'
]
