"""A CSV file whose columns a study gives a meaning.

Nothing in such a file says what its columns are, so that the file is not recognised by its content:
the study names the columns. The first line that is not empty is the header; fields are separated by
commas and quoted by `"` (RFC 4180); numbers have a decimal point and no separators of thousands.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from netstudy.formats.measured import FormatError

NO_VALUE: Final = frozenset({"", "-", "\u2013", "\u2014"})
"""Contents of a field for which the source has no value: nothing, or a dash of any length."""

_NUMBER: Final = re.compile(
    r"[+-]?(?:[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,3})?"
)
_GROUPED: Final = re.compile(r"[+-]?[0-9]{1,3}(?:[ '\u2019\u00a0\u202f_][0-9]{3})+(?:[.,][0-9]*)?")
_GROUPED_BY_COMMA: Final = re.compile(
    r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]+|[+-]?[0-9]{1,3}(?:,[0-9]{3}){2,}"
)
_DECIMAL_COMMA: Final = re.compile(r"[+-]?[0-9.]*,[0-9]*")


@dataclass(frozen=True)
class Fault:
    """A mistake in a file, and its line."""

    line: int
    message: str
    """It follows the name of the file and the line."""


@dataclass(frozen=True)
class TextRow:
    """A row of a file."""

    line: int
    texts: Mapping[str, str]
    """Column -> text without the space around it."""


@dataclass(frozen=True)
class TextTable:
    """A CSV file before its columns have a meaning."""

    header: tuple[str, ...]
    """Names of the columns; empty: the file is empty."""
    rows: tuple[TextRow, ...]
    faults: tuple[Fault, ...]
    """Columns that occur twice, and rows whose number of fields is not that of the header; these
    rows are not among `rows`."""


@dataclass(frozen=True)
class Column:
    """The meaning of a column."""

    kind: Literal["number", "text"] = "number"
    required: bool = False
    """True if a row without a value in this column is a mistake."""


@dataclass(frozen=True)
class Value:
    """A number of a file."""

    value: float
    rounding: float
    """One unit of the last printed digit: the most by which rounding or truncating changed the
    value."""


@dataclass(frozen=True)
class Row:
    """A row of a file with columns that have a meaning."""

    line: int
    values: Mapping[str, Value]
    """Column -> number, without the columns that have none in this row."""
    texts: Mapping[str, str]
    """Column -> text."""


class NotANumber(ValueError):
    """A text that is not a number. The message follows the text: `is not a number`."""


class DamagedLine(FormatError):
    """A line that is not a line of a CSV file."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line} {message}")
        self.line = line
        self.message = message


def read_table(data: bytes, columns: Mapping[str, Column]) -> tuple[Row, ...]:
    """The rows of a file with the columns that the study names.

    Raises FormatError with every mistake and its line: a column that is missing or occurs twice, a
    row with too many or too few fields, a text where a number should be.
    """
    table = text_table(data)
    missing = [f'the file has no column "{name}"' for name in columns if name not in table.header]
    if missing:
        names = ", ".join(table.header) or "no columns"
        raise FormatError(f"{'; '.join(missing)}; it has {names}")
    faults = list(table.faults)
    rows = [_row(row, columns, faults) for row in table.rows]
    if faults:
        raise FormatError("; ".join(f"line {fault.line} {fault.message}" for fault in faults))
    return tuple(rows)


def text_table(data: bytes) -> TextTable:
    """Header and rows of a file.

    Raises DamagedLine if the file is not CSV, and FormatError if it is not text in UTF-8.
    """
    lines = list(_lines(data))
    if not lines:
        return TextTable((), (), ())
    first, names = lines[0]
    header = tuple(name.strip() for name in names)
    if len(header) == 1 and (separator := re.search(r"[;\t|]", header[0])):
        raise DamagedLine(
            first, f"has {separator.group()!r} between its columns instead of a comma"
        )
    faults = [
        Fault(first, f'the column "{name}" occurs twice')
        for name in dict.fromkeys(name for name in header if header.count(name) > 1)
    ]
    rows = []
    for line, fields in lines[1:]:
        if len(fields) == len(header):
            texts = (field.strip() for field in fields)
            rows.append(TextRow(line, dict(zip(header, texts, strict=True))))
        else:
            message = f"has {len(fields)} fields where the first line names {len(header)}"
            faults.append(Fault(line, message))
    return TextTable(header, tuple(rows), tuple(faults))


def number_of(text: str) -> Decimal:
    """The number that a field holds. Raises NotANumber with the reason and the right spelling."""
    if _NUMBER.fullmatch(text):
        found = Decimal(text)
        if math.isfinite(float(found)):
            return found
        raise NotANumber("is too large a number")
    if _GROUPED.fullmatch(text) or _GROUPED_BY_COMMA.fullmatch(text):
        raise NotANumber("has separators between thousands; write it without them")
    if _DECIMAL_COMMA.fullmatch(text):
        raise NotANumber("has a comma; write a decimal point, and nothing between thousands")
    raise NotANumber("is not a number; leave missing values empty")


def rounding(found: Decimal) -> float:
    """One unit of the last digit of a finite number."""
    exponent = found.as_tuple().exponent
    assert isinstance(exponent, int), "only finite numbers are read"
    return float(Decimal(1).scaleb(exponent))


def _lines(data: bytes) -> Iterator[tuple[int, Sequence[str]]]:
    """Lines that are not empty, with their numbers."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"line {line} is not text in UTF-8") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise DamagedLine(line, f"is not a valid line of a CSV file: {error}") from None


def _row(row: TextRow, columns: Mapping[str, Column], faults: list[Fault]) -> Row:
    values: dict[str, Value] = {}
    texts: dict[str, str] = {}
    for name, column in columns.items():
        text = row.texts[name]
        if column.required and text in NO_VALUE:
            faults.append(Fault(row.line, f"has no {name}"))
        elif column.kind == "text":
            texts[name] = text
        elif text not in NO_VALUE:
            try:
                found = number_of(text)
            except NotANumber as error:
                faults.append(Fault(row.line, f'{name} "{text}" {error}'))
            else:
                values[name] = Value(float(found), rounding(found))
    return Row(row.line, values, texts)
