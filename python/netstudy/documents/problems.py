"""Problems of a document, each with its place; several are reported at once.

pydantic reports a tuple of keys and a code; `validation` turns them into `file:line:column: path:
message`, with a message that says how to correct the mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from netstudy.errors import StudyError

Path = tuple[str | int, ...]
"""The keys and list indices that lead to a part of a document."""

_SHOWN_MAX = 10


def listed(words: Sequence[str], last: str = "and") -> str:
    """Joins words: a, b and c. `last` is put before the last one ("and")."""
    *head, end = words or [""]
    return f"{', '.join(head)} {last} {end}" if head else end


@dataclass(frozen=True, order=True)
class Place:
    """A file, or a command-line option, with line and column (from 1; 0: none). In a table (CSV), a
    place is just a line, since the fields of a line have names."""

    source: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """`file:line:column`, without the parts that are 0."""
        return ":".join(str(part) for part in (self.source, self.line, self.column) if part)


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake: its place, the affected part, and the message."""

    place: Place
    part: str
    """Dotted path of the part, such as `topology.link.delay`; empty for the whole document."""
    message: str

    def __str__(self) -> str:
        """`file:line:column: path: message`."""
        return ": ".join(part for part in (str(self.place), self.part, self.message) if part)


class DocumentError(StudyError):
    """One or several problems, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Show up to ten problems, and the number of further ones."""
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[:_SHOWN_MAX]]
        if len(self.problems) > _SHOWN_MAX:
            lines.append(f"and {len(self.problems) - _SHOWN_MAX} more problems")
        super().__init__("\n".join(lines))


def fail(problem: Problem) -> NoReturn:
    """Raise a DocumentError of one problem."""
    raise DocumentError([problem])


def raise_problems(problems: Iterable[Problem]) -> None:
    """Raise a DocumentError with the problems in file order, if there are any."""
    found = sorted(set(problems))
    if found:
        raise DocumentError(found)


def dotted(path: Path) -> str:
    """A path in the form of messages and `--set`: `("links", 0, "rate")` -> `links.0.rate`."""
    return ".".join(str(part) for part in path)
