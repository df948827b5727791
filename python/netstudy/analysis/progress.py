"""How far a study is: how many of its runs are there, and how far each cell is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from netstudy.analysis.cells import CellRow, CellTable, Problem


@dataclass(frozen=True, eq=False)
class Progress:
    """The planned runs of a study by their state. A run that is in several cells counts once."""

    valid: int
    failed: int
    invalid: int
    missing: int
    complete: tuple[CellRow, ...]
    """The cells in which every planned run is valid."""
    partial: tuple[CellRow, ...]
    """The cells with some valid runs."""
    without: tuple[CellRow, ...]
    """The cells without a valid run."""
    problems: tuple[tuple[CellRow, Problem], ...]
    """The failed and invalid runs, each with one of its cells."""

    @property
    def planned(self) -> int:
        """Number of runs planned so far; if a factor grows, more may follow."""
        return self.there + self.missing

    @property
    def there(self) -> int:
        """Number of runs with a record."""
        return self.valid + self.failed + self.invalid


def progress(cells: CellTable) -> Progress:
    """How far the cells of a study are."""
    kinds: dict[str, str] = {}
    problems: dict[str, tuple[CellRow, Problem]] = {}
    for row in cells.rows:
        kinds |= {run.run: "valid" for run in row.runs}
        for one in row.problems:
            kinds[one.run] = "invalid" if one.kind == "limited" else one.kind
            if one.kind != "missing":
                problems.setdefault(one.run, (row, one))
    number = Counter(kinds.values())
    return Progress(
        valid=number["valid"],
        failed=number["failed"],
        invalid=number["invalid"],
        missing=number["missing"],
        complete=tuple(row for row in cells.rows if len(row.runs) == len(row.planned)),
        partial=tuple(row for row in cells.rows if 0 < len(row.runs) < len(row.planned)),
        without=tuple(row for row in cells.rows if not row.runs),
        problems=tuple(problems.values()),
    )
