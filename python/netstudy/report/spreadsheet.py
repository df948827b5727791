"""CSV whose text spreadsheets read as text, and not as formulas.

A spreadsheet takes a field that begins with one of a few signs for a formula, and some formulas
start programs or send the table elsewhere. By the usual rule (OWASP, "CSV Injection") such a field
gets an apostrophe before it, unless it is a number.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import Final, Literal

_BEGINS: Final = ("=", "+", "-", "@", "\t", "\r")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def csv_line(values: Iterable[object], *, raw: bool = False) -> str:
    """One line of CSV with its end; None is an empty field. `raw` leaves text as it is."""
    out = io.StringIO()
    fields = ["" if value is None else value for value in values]
    written = fields if raw else map(_harmless, fields)
    # Python does not quote a carriage return, and readers take it for the end of a line.
    bare = any(isinstance(value, str) and "\r" in value for value in fields)
    quoting: Literal[0, 1] = csv.QUOTE_ALL if bare else csv.QUOTE_MINIMAL
    csv.writer(out, lineterminator="\n", quoting=quoting).writerow(written)
    return out.getvalue()


def _harmless(value: object) -> object:
    """The text with an apostrophe if a spreadsheet would take it for a formula and it is not a
    number, else unchanged."""
    if isinstance(value, str) and value.startswith(_BEGINS) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value
