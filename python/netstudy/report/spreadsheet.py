"""Writes CSV so that spreadsheets do not take text for formulas.

A spreadsheet treats a field that begins with certain characters as a formula, and some formulas
start programs or send the table to others. By the usual rule (OWASP, "CSV Injection"), such a field
is written with an apostrophe before it, unless it is a number.
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
    """One line of CSV, including the line break; None is an empty field. With `raw`, text is not
    changed."""
    out = io.StringIO()
    fields = ["" if value is None else value for value in values]
    written = fields if raw else map(_harmless, fields)
    # Python's csv does not quote carriage returns, although readers take them for line ends.
    bare = any(isinstance(value, str) and "\r" in value for value in fields)
    quoting: Literal[0, 1] = csv.QUOTE_ALL if bare else csv.QUOTE_MINIMAL
    csv.writer(out, lineterminator="\n", quoting=quoting).writerow(written)
    return out.getvalue()


def _harmless(value: object) -> object:
    """Puts an apostrophe before text that a spreadsheet would take for a formula; numbers are
    unchanged."""
    if isinstance(value, str) and value.startswith(_BEGINS) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value
