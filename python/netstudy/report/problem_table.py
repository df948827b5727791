"""The runs without valid results as a table: run, treatment, kind, reason."""

from __future__ import annotations

from collections.abc import Sequence

from netstudy.analysis.cells import CellRow, Problem
from netstudy.report.cellrefs import treatment_text
from netstudy.report.refs import Name, say
from netstudy.report.tables import Group, Table


def problems_table(problems: Sequence[tuple[CellRow, Problem]]) -> Table | None:
    """One row for each run without valid results; None if there is none."""
    if not problems:
        return None
    rows = tuple(
        (
            Name(problem.run, code=True),
            Name(treatment_text(cell.treatment)),
            Name(str(problem.replicate)),
            Name(problem.kind),
            Name(problem.reason),
        )
        for cell, problem in problems
    )
    groups = tuple(Group(head) for head in ("run", "treatment", "replicate", "kind", "reason"))
    return Table("problems", say("Runs that gave no numbers"), groups, rows)
