"""Finds the toolbox that a config is for, and makes sure that it can be used."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Optional

from mmengine import Config
from mmengine.registry import MODELS

from ..cfg.tree import typed_paths
from ..errors import UserError
from ..terminal import quiet
from .base import Toolbox, get_toolbox, names

IMPORTABLE = ('install it, or name the folder that holds it in PYTHONPATH (PYTHONPATH=. for the '
              'current one)')


def require_toolbox(cfg: Config) -> Toolbox:
    """The toolbox that a config is for, once it is sure that it can be used.

    Args:
        cfg (Config): Where it names no ``default_scope``, that of the toolbox is set.

    Raises:
        UserError: As in :func:`find_toolbox`.
    """
    toolbox, scope = find_toolbox(cfg)
    if cfg.get('default_scope') is None:
        cfg.default_scope = scope
    return toolbox


def find_toolbox(cfg: Config, given: Optional[str] = None) -> tuple:
    """The toolbox that a config is for, and the scope in which the names of its classes are.

    Where ``default_scope`` is another package, its toolbox is the one whose registry is above that
    of the package, or whose classes those of the model derive from. Where there is none, the
    classes of the model decide as well.

    Args:
        cfg (Config): Left as it is.
        given (str, optional): The toolbox's name, where the user says it. Defaults to None.

    Returns:
        tuple[Toolbox, str]: The toolbox, which has been imported, and the scope.

    Raises:
        UserError: If it cannot be told or imported.
    """
    scope = cfg.get('default_scope')
    other = scope is not None and scope not in names()
    if other:
        _import_package(scope)
    name = given or _toolbox_of_scope(scope) or _toolbox_of_classes(
        cfg.get('model'), (scope, ) if other else names())
    if name is None:
        raise UserError(
            f'set default_scope in the config to one of {", ".join(names())}, got {scope!r}, and '
            'the classes of the model derive from none of them, or from several')
    toolbox = get_toolbox(name)
    _import_toolbox(toolbox)
    return toolbox, scope if other else name


def _import_package(scope: str) -> None:
    try:
        import_module(scope)
    except Exception as error:  # a package can fail in any way
        raise UserError(
            f'default_scope is {scope!r}, none of {", ".join(names())}, and the package {scope} '
            f'cannot be imported ({error}): {IMPORTABLE}') from error


def _import_toolbox(toolbox: Toolbox) -> None:
    if toolbox.compiled:
        require_mmcv_operators()
    try:
        import_module(toolbox.name)
    except Exception as error:  # their version checks raise AssertionError
        raise UserError(
            f'the config is for {toolbox.name}, which cannot be imported: {error}\n'
            f'It comes with: {toolbox.installation}') from error


def _toolbox_of_scope(scope: Optional[str]) -> Optional[str]:
    """The toolbox that has a scope, or from whose registry that of the scope inherits."""
    if scope is None or scope in names():
        return scope
    with quiet(), MODELS.switch_scope_and_registry(scope) as registry:
        while registry is not None and registry.scope not in names():
            registry = registry.parent
    return registry.scope if registry else None


def _toolbox_of_classes(model: Any, scopes: Sequence) -> Optional[str]:
    """The toolbox of the outermost class of a model that is of one toolbox only.

    Args:
        model (dict): Of a config.
        scopes (Sequence[str]): Where to look for the classes.
    """
    for path, node in typed_paths(model):
        if 'backbone' in path:  # may come from another toolbox
            continue
        found = {_toolbox_of_class(str(node['type']), scope) for scope in scopes} - {None}
        if len(found) == 1:
            return found.pop()
    return None


def _toolbox_of_class(kind: str, scope: str) -> Optional[str]:
    if kind.split('.')[0] in names():
        return kind.split('.')[0]
    try:
        with quiet(), MODELS.switch_scope_and_registry(scope) as registry:
            found = registry.get(kind)
    except Exception:  # importing what the registry holds can fail in any way
        return None
    packages = [base.__module__.split('.')[0] for base in getattr(found, '__mro__', ())]
    return next((package for package in packages if package in names()), None)


def require_mmcv_operators() -> None:
    """Make sure that mmcv has its compiled operators, which the detectors and segmentors need.

    Raises:
        UserError: If mmcv is missing, or its operators are missing or do not fit torch.
    """
    try:
        import_module('mmcv._ext')
    except ImportError as error:
        raise UserError(
            f'mmcv has no compiled operators that work here ({error}). It was built before torch '
            'was there or for another torch, or mmcv-lite is installed. Build it against your '
            'torch:\n'
            '  pip uninstall -y mmcv mmcv-lite && pip install "setuptools<81" wheel ninja psutil\n'
            '  MMCV_WITH_OPS=1 pip install --no-build-isolation --no-cache-dir mmcv==2.1.0'
        ) from error
