"""The cells of a study: pools its runs, then gives relative metrics the values of their base rows.

A base (`bases`) is a value of pooled cells (`cells`), so runs are pooled first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from netstudy.analysis.bases import bases_of
from netstudy.analysis.cells import CellRow, CellTable, Reader, Visit, pool
from netstudy.analysis.one_pass import demands_of, settle
from netstudy.analysis.samples import SeriesReader
from netstudy.wire import Plan, RunRecord

if TYPE_CHECKING:
    from netstudy.store import Folder
    from netstudy.study import Study


def cell_table(folder: Folder) -> CellTable:
    """The cells of a results folder, finished or not; named levels are in the study's order."""
    return pool_study(folder.study(), folder.plan(), reader(folder), folder.series)


def reader(folder: Folder, visit: Visit = lambda *_: None) -> Reader:
    """Reads the records of a folder, each once for the usual analyses. `visit` is called with the
    place of each run in the plan and its record."""
    return Reader(lambda run: folder.record(run.id), demands_of, settle, visit)


def pool_study(
    study: Study,
    plan: Plan,
    records: Sequence[RunRecord] | Reader,
    series: SeriesReader | None = None,
) -> CellTable:
    """The cells of a study's runs; named levels are in the study's order."""
    order = {name: factor.names for name, factor in study.factors.items()}
    return relate(study, pool(plan, records, order, series, study.named_metrics))


def relate(study: Study, table: CellTable) -> CellTable:
    """The cells with the bases of their relative metrics. If a cell belongs to several test cases
    with different bases, it is split into one cell per set of bases."""
    if not table.workload.relatives or table.workload.kind == "measured":
        return table  # published percentages already refer to rows of their own tables
    found = {case: bases_of(study, case, table) for case in table.cases}
    relatives = [
        one
        for own in table.workload.relatives
        for one in (own.metric, own.scaling)
        if one is not None
    ]
    names, readings = {one.name for one in relatives}, [one.reading for one in relatives]
    rows: list[CellRow] = []
    for row in table.rows:
        by_bases: dict[tuple[tuple[str, float], ...], list[str]] = {}
        for case in row.cases:
            own = found[case].get(id(row), {})
            by_bases.setdefault(tuple(sorted(own.items())), []).append(case)
        rows += [
            replace(
                row,
                cases=tuple(cases),
                runs=row.runs.with_bases(dict(bases), readings) if bases else row.runs,
                _known={name: one for name, one in row._known.items() if name not in names},
            )
            for bases, cases in by_bases.items()
        ]
    return replace(table, rows=tuple(rows))
