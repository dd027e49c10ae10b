"""Checks of what a config gives: each returns the value, or raises with it and the choices."""

from collections.abc import Iterable
from math import inf, isfinite
from numbers import Real


def is_one_of(value: object, choices: Iterable) -> bool:
    """Whether a value is among the choices, of the same type too: 1.0 and True are no 1."""
    return any(type(value) is type(choice) and value == choice for choice in choices)


def check_choice(name: str, value: object, choices: Iterable) -> object:
    """Return ``value`` if it is one of the choices.

    Raises:
        ValueError: If not.
    """
    if not is_one_of(value, choices):
        raise ValueError(f'{name} must be one of {sorted(choices)}, got {value!r}')
    return value


def check_bool(name: str, value: bool) -> bool:
    """Return ``value`` if it is True or False; words such as 'no' would pass for True.

    Raises:
        ValueError: If not.
    """
    if not isinstance(value, bool):
        raise ValueError(f'{name} must be True or False, got {value!r}')
    return value


def check_number(name: str, value: float, least: float = -inf, above: float = -inf,
                 below: float = inf) -> float:
    """Return ``value`` if it is a finite number and in range.

    Args:
        name (str): Name of the argument, for the message.
        value (float): What was given.
        least (float): Smallest of the range. Defaults to -inf.
        above (float): What it has to exceed. Defaults to -inf.
        below (float): What it must stay under. Defaults to inf.

    Raises:
        ValueError: If not.
    """
    number = isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
    if not number or value < least or not above < value < below:
        bounds = [f'{word} {bound}' for word, bound in (
            ('at least', least), ('above', above), ('below', below)) if isfinite(bound)]
        raise ValueError(f'{name} must be a finite number{", " * bool(bounds)}'
                         f'{" and ".join(bounds)}, got {value!r}')
    return value


def check_integer(name: str, value: int, least: int, most: float = inf) -> int:
    """Return ``value`` if it is an integer from ``least`` to ``most``, both included.

    Raises:
        ValueError: If not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        choices = f'{least} to {most}' if isfinite(most) else f'an integer of at least {least}'
        raise ValueError(f'{name} must be {choices}, got {value!r}')
    return value


def check_dict(name: str, value: dict, example: str) -> dict:
    """Return ``value`` if it is a dict.

    Args:
        name (str): Name of the argument, for the message.
        value (dict): What was given.
        example (str): For the message.

    Raises:
        ValueError: If not.
    """
    if not isinstance(value, dict):
        raise ValueError(f'{name} must be a dict such as {example}, got {value!r}')
    return value


def check_divides(name: str, value: int, head_dim: int) -> int:
    """Return ``value`` if it is an integer that divides the channels of a group.

    Args:
        name (str): Name of the option, for the message.
        value (int): What was given.
        head_dim (int): Channels per group, d.

    Raises:
        ValueError: If not; the message has the choices.
    """
    choices = [number for number in range(1, head_dim + 1) if head_dim % number == 0]
    if not is_one_of(value, choices):
        raise ValueError(f'{name} must divide the {head_dim} channels of a group: '
                         f'one of {choices}, got {value!r}')
    return value
