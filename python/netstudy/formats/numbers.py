"""Numbers as programs print them, for formats that are text.

Python's `float` reads `1_000`, `nan` and `٣`; these functions read the output of C's printf in the
locale C, and refuse the rest with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from netstudy.formats.measured import FormatError

_DECIMAL: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,2})?|[+-]?\.[0-9]+")
_WHOLE: Final = re.compile(r"[0-9]{1,20}")
_COMMA: Final = re.compile(r"[+-]?[0-9]+,[0-9]+")
_NOT_FINITE: Final = re.compile(r"[+-]?(?:nan(?:\(.*\))?|inf(?:inity)?)", re.IGNORECASE)
_MOST_CHARACTERS: Final = 300
"""A longer number would not fit a floating-point number."""


def is_finite(text: str) -> bool:
    """False if this is a number that a program could not compute: `-nan`, `inf`."""
    return _NOT_FINITE.fullmatch(text) is None


def decimal(text: str, where: str) -> float:
    """A number with a decimal point or without one. Raises FormatError, with `where`, for anything
    else."""
    if len(text) <= _MOST_CHARACTERS and _DECIMAL.fullmatch(text):
        return float(text)
    if _COMMA.fullmatch(text):
        raise FormatError(
            f'{where}: "{text}" has a decimal comma; make the file with LC_ALL=C before the command'
        )
    raise FormatError(f'{where}: "{text}" is not a number')


def whole(text: str, where: str) -> int:
    """A whole number without a sign. Raises FormatError, with `where`, for anything else."""
    if _WHOLE.fullmatch(text):
        return int(text)
    raise FormatError(f'{where}: "{text}" is not a whole number')


def scaled(text: str, unit: str, factors: Mapping[str, float], where: str) -> float:
    """A number times the factor of its unit. Raises FormatError if the unit is not among them."""
    factor = factors.get(unit)
    if factor is None:
        known = ", ".join(factors)
        raise FormatError(f'{where}: "{unit}" is not a unit that is known here; known are {known}')
    return decimal(text, where) * factor


def half_a_digit(text: str) -> float:
    """Half of the last digit of a printed number, for example 0.05 of `59.6`: the number that was
    rounded differs by at most this."""
    digits, _, exponent = text.lower().partition("e")
    _, _, fraction = digits.partition(".")
    return 0.5 * 10.0 ** (int(exponent or 0) - len(fraction))
