"""Printing: results to standard output, messages for people to standard error."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH = 160


def print_json(value: Any) -> None:
    """Print a result for programs."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def say(message: str) -> None:
    """Tell a person something that is not the result."""
    print(message, file=sys.stderr, flush=True)


def output() -> Console:
    """The console of results; where nobody says how wide it is, wide enough for any table."""
    from rich.console import Console

    told = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(highlight=False, width=None if told else _WIDTH)


def duration(seconds: float) -> str:
    """A rough time for people: 40 s, 3 min, 5 h, 12 days."""
    for limit, unit, size in ((120, "s", 1), (7200, "min", 60), (172_800, "h", 3600)):
        if seconds < limit:
            return f"{max(seconds / size, 1):.0f} {unit}"
    return f"{seconds / 86_400:,.0f} days"


def megabytes(count: int) -> str:
    """A rough size for people."""
    return f"{count / 1e6:,.1f} MB"
