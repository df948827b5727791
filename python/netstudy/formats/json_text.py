"""JSON as programs that measure write it, which is not always JSON.

The parser of the standard library keeps the last value of a repeated key and refuses a whole text
for one `-nan`. Here a repeated key has all of its values (`Repeated`), a number that is not finite
is a value of its own (`NotFinite`), and a text may have several documents, one after the other.
Every error says where in the text it is. The functions `mapping`, `listing`, `number` and so on
read members of a document; their errors name the path of the member: `end.sum_sent.bytes`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from netstudy.formats.measured import FormatError

Object = Mapping[str, Any]

_NOT_FINITE: Final = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*"|[+-]?\b(?:nan(?:\([^)]*\))?|inf(?:inity)?\b)',
    re.IGNORECASE | re.DOTALL,
)
_MOST_EXACT: Final = 1e300
"""A whole number beyond this is no measurement, and may not fit a floating-point number."""
_GAP: Final = re.compile(r"[\s\x00]*")
_DECIMAL_COMMA: Final = re.compile(r"\d,\s*$")


class Repeated(tuple[Any, ...]):
    """The values of a key that an object has more than once, in the order of the text."""

    __slots__ = ()


@dataclass(frozen=True)
class NotFinite:
    """A number that is none, such as the quotient of 0 and 0."""

    text: str
    """As the file has it: `-nan`."""


def documents(text: str) -> list[Any]:
    """All documents of a text, which may have space between them and nothing else.

    Raises FormatError if there is none, or if one of them is not JSON, with its line.
    """
    try:
        return _documents(text, NotFinite)
    except FormatError:
        numbers: list[str] = []
        strict = _without_special_numbers(text, numbers)
        if not numbers:
            raise
    texts = iter(numbers)
    return _documents(strict, lambda constant: NotFinite(next(texts, constant)))


def document(text: str) -> Any:
    """The only document of a text. Raises FormatError if there are several, or as `documents`."""
    found = documents(text)
    if len(found) > 1:
        raise FormatError(f"the file has {len(found)} documents of JSON, one is expected")
    return found[0]


def mapping(value: Any, path: str) -> Object:
    """The value as an object. Raises FormatError if it is something else."""
    if isinstance(value, dict):
        return value
    raise FormatError(f"{path}: {_kind(value)} stands here, an object is expected")


def listing(value: Any, path: str) -> Sequence[Any]:
    """The value as a list. Raises FormatError if it is something else."""
    if isinstance(value, list):
        return value
    raise FormatError(f"{path}: {_kind(value)} stands here, a list is expected")


def objects(of: Object, key: str, path: str) -> list[Object]:
    """The objects in a list that is a member; empty if the member is missing."""
    if of.get(key) is None:
        return []
    inner = joined(path, key)
    return [
        mapping(value, f"{inner}[{index}]") for index, value in enumerate(listing(of[key], inner))
    ]


def child(of: Object, key: str, path: str) -> Object | None:
    """An object that is a member; None if it is missing or null."""
    value = of.get(key)
    return None if value is None else mapping(value, joined(path, key))


def number(of: Object, key: str, path: str, notes: list[str] | None = None) -> float | None:
    """A number that is a member; None if it is missing or null.

    A number that is not finite is left out, and `notes` get a sentence about it. Raises FormatError
    if the member is not a number.
    """
    value = of.get(key)
    if value is None:
        return None
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is int and abs(value) < _MOST_EXACT:
        return float(value)
    return _other_number(value, joined(path, key), notes)


def whole(of: Object, key: str, path: str) -> int | None:
    """A whole number that is a member; None if it is missing or null. Raises FormatError if it is
    something else."""
    value = of.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise FormatError(
        f"{joined(path, key)}: {_kind(value)} stands here, a whole number is expected"
    )


def string(of: Object, key: str, path: str) -> str | None:
    """A text that is a member; None if it is missing or null. Raises FormatError if it is something
    else."""
    value = of.get(key)
    if value is None or isinstance(value, str):
        return value
    raise FormatError(f"{joined(path, key)}: {_kind(value)} stands here, a text is expected")


def flag(of: Object, key: str, path: str) -> bool | None:
    """True or false that is a member, also as 1 or 0; None if it is missing or null. Raises
    FormatError if it is something else."""
    value = of.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise FormatError(f"{joined(path, key)}: {_kind(value)} stands here, true or false is expected")


def joined(path: str, key: str) -> str:
    """The path of a member."""
    return f"{path}.{key}" if path else key


def _other_number(value: Any, path: str, notes: list[str] | None) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | NotFinite):
        raise FormatError(f"{path}: {_kind(value)} stands here, a number is expected")
    if notes is not None:
        text = value.text if isinstance(value, NotFinite) else "too large"
        notes.append(f"{path} is left out: its value is {text}, which is not a finite number.")
    return None


def _kind(value: Any) -> str:
    if isinstance(value, Repeated):
        return f"a key with {len(value)} values"
    if isinstance(value, NotFinite):
        return value.text
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return kinds.get(type(value), "nothing" if value is None else "a number")


def _documents(text: str, constant: Callable[[str], NotFinite]) -> list[Any]:
    decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=constant)
    found = []
    at = _end_of_gap(text, 0)
    while at < len(text):
        value, at = _decoded(decoder, text, at)
        found.append(value)
        at = _end_of_gap(text, at)
    if not found:
        raise FormatError("the file is empty")
    return found


def _without_special_numbers(text: str, numbers: list[str]) -> str:
    """The text with NaN, which the parser knows, for each number that is not finite. These numbers
    are added to `numbers` as the text has them."""

    def replaced(match: re.Match[str]) -> str:
        found = match.group()
        if found.startswith('"'):
            return found
        numbers.append(found)
        # Of the same length, so that messages name places of the file.
        return "NaN".ljust(len(found))

    return _NOT_FINITE.sub(replaced, text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    values: dict[str, list[Any]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return {key: each[0] if len(each) == 1 else Repeated(each) for key, each in values.items()}


def _decoded(decoder: json.JSONDecoder, text: str, at: int) -> tuple[Any, int]:
    try:
        return decoder.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise FormatError(_reason(text, at, error)) from None
    except RecursionError:
        raise FormatError(f"{_place(text, at)}: the document is nested too deeply") from None
    except ValueError as error:  # a whole number of thousands of digits
        raise FormatError(f"{_place(text, at)}: {error}") from None


def _reason(text: str, start: int, error: json.JSONDecodeError) -> str:
    place = _place(text, error.pos)
    if error.pos >= len(text.rstrip("\x00 \t\r\n")) or error.msg.startswith("Unterminated"):
        return (
            f"{place}: the file was cut off: the document that begins at {_place(text, start)} "
            "does not end"
        )
    if text[error.pos].isdigit() and _DECIMAL_COMMA.search(text, max(0, error.pos - 20), error.pos):
        return (
            f"{place}: a number with a decimal comma is not JSON; make the file with LC_ALL=C "
            "before the command"
        )
    return f"{place}: this is not JSON: {error.msg}"


def _place(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    return f"line {line}, column {column}"


def _end_of_gap(text: str, at: int) -> int:
    match = _GAP.match(text, at)
    assert match is not None, "the pattern matches the empty text"
    return match.end()
