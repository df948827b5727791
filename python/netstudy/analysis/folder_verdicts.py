"""Verdicts on two results folders: does NEW differ from BASE, cell by cell?

The tests are the study's own (`verdict`): a minimum-effect test and an equivalence test against the
noise band. The p values of all cells and metrics are adjusted together by Holm's method, because
one answer is drawn from all of them: if nothing changed, at most one comparison in twenty finds a
difference anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from netstudy.analysis.cells import CellRow, CellTable, have_one_base
from netstudy.analysis.comparison import FolderComparison, metric_of, own_metric
from netstudy.analysis.metrics import Metric
from netstudy.analysis.verdict import Candidate, Comparison, Outcome, comparisons
from netstudy.errors import StudyError
from netstudy.study import Study
from netstudy.study.agreement import agreed_metric
from netstudy.wire import Treatment

Folder = Literal["BASE", "NEW"]
BASE: Folder = "BASE"
NEW: Folder = "NEW"
Source = Literal["BASE", "NEW", "--noise"]


@dataclass(frozen=True)
class NoiseBand:
    """The noise band of the verdicts, and its origin: the study of a folder, or the option."""

    pct: float
    source: Source


@dataclass(frozen=True, eq=False)
class FolderVerdict:
    """The verdict on one metric of one cell."""

    treatment: Treatment
    metric: Metric
    base: CellRow | None
    """None: only NEW has the cell."""
    new: CellRow | None
    """None: only BASE has the cell."""
    has_one_base: bool
    """False if the metric is a percentage of base rows that differ between the folders."""
    compared: Comparison

    @property
    def outcome(self) -> Outcome:
        """Whether NEW differs from BASE."""
        return self.compared.outcome

    @property
    def is_worse(self) -> bool:
        """True if NEW is shown to be worse; never for a metric without a better direction."""
        return self.compared.winner == BASE

    @property
    def is_better(self) -> bool:
        """True if NEW is shown to be better; never for a metric without a better direction."""
        return self.compared.winner == NEW


@dataclass(frozen=True, eq=False)
class FolderVerdicts:
    """The verdicts on every cell of two folders, metric by metric."""

    metrics: tuple[Metric, ...]
    noise: NoiseBand | None
    verdicts: tuple[FolderVerdict, ...]

    def of(self, metric: Metric) -> tuple[FolderVerdict, ...]:
        """The verdicts on one metric."""
        return tuple(one for one in self.verdicts if one.metric == metric)

    def with_outcome(self, outcome: Outcome) -> tuple[FolderVerdict, ...]:
        """The verdicts with a given outcome."""
        return tuple(one for one in self.verdicts if one.outcome == outcome)


def noise_band(studies: Sequence[Study], asked_pct: float | None) -> NoiseBand | None:
    """The asked noise band, else the band of the first study that declares one: BASE's, then
    NEW's."""
    if asked_pct is not None:
        return NoiseBand(asked_pct, "--noise")
    sources: tuple[Source, Source] = (BASE, NEW)
    for study, source in zip(studies, sources, strict=True):
        pct = study.compare.margin_pct if study.compare else study.margin_pct
        if pct is not None:
            return NoiseBand(pct, source)
    return None


def asked_metrics(names: Sequence[str], tables: Sequence[CellTable]) -> tuple[Metric, ...]:
    """The metrics with these names. Raises StudyError for a name that is unknown or given twice,
    and for a metric without a value in any cell."""
    found: list[Metric] = []
    for name in names:
        metric = _asked_metric(name, tables)
        if metric in found:
            raise StudyError(f"{name} is given twice", "--on")
        if not _is_measured(metric, tables):
            raise StudyError(f"no cell of either folder has a value of {name}", "--on")
        found.append(metric)
    return tuple(found)


def _asked_metric(name: str, tables: Sequence[CellTable]) -> Metric:
    among = list(_vocabulary(tables))
    for metric in among:
        if metric.name == name:
            return metric
    try:
        found = metric_of(agreed_metric(name), among)
    except ValueError as error:
        raise StudyError(str(error), "--on") from None
    if found is None:
        own = [one for table in tables for one in (*table.metrics, *table.asked)]
        has = ", ".join(dict.fromkeys(one.name for one in own if _is_measured(one, tables)))
        raise StudyError(f"neither folder gives {name}; they give {has}", "--on")
    return found


def _vocabulary(tables: Sequence[CellTable]) -> Iterator[Metric]:
    for table in tables:
        yield from (*table.metrics, *table.asked)
    for table in tables:
        yield from (*table.further, *table.of_nodes)


def deciding_metrics(studies: Sequence[Study], tables: Sequence[CellTable]) -> tuple[Metric, ...]:
    """The metrics of the first study with `compare.on`; if there is none, the metrics that BASE's
    workload compares. Metrics without a value in any cell are left out, unless no other is left."""
    for study in studies:
        names = study.compare.on if study.compare else ()
        found = [metric_of(name, list(_vocabulary(tables))) for name in names]
        if known := tuple(dict.fromkeys(one for one in found if one is not None)):
            break
    else:
        known = tables[0].workload.compared_on
    return tuple(one for one in known if _is_measured(one, tables)) or known


def _is_measured(metric: Metric, tables: Sequence[CellTable]) -> bool:
    return any(
        row.estimate(own) is not None
        for table in tables
        if (own := own_metric(metric, table)) is not None
        for row in table.rows
    )


def folder_verdicts(
    base: CellTable,
    new: CellTable,
    found: FolderComparison,
    metrics: Sequence[Metric],
    noise: NoiseBand | None,
) -> FolderVerdicts:
    """A verdict on each metric in each cell. A cell of only one folder is "missing"."""
    cells: list[tuple[Treatment, CellRow | None, CellRow | None]] = [
        *((pair.treatment, pair.a, pair.b) for pair in found.pairs),
        *((row.treatment, row, None) for row in found.only_a),
        *((row.treatment, None, row) for row in found.only_b),
    ]
    asked = [
        (treatment, in_base, in_new, _candidate(metric, (in_base, base), (in_new, new)))
        for metric in metrics
        for treatment, in_base, in_new in cells
    ]
    judged = comparisons(
        [candidate for *_, (candidate, _) in asked],
        (NEW, BASE),
        None if noise is None else noise.pct,
    )
    verdicts = tuple(
        FolderVerdict(treatment, candidate.metric, in_base, in_new, has_one_base, compared)
        for (treatment, in_base, in_new, (candidate, has_one_base)), compared in zip(
            asked, judged, strict=True
        )
    )
    return FolderVerdicts(tuple(metrics), noise, verdicts)


def _candidate(
    metric: Metric, base: tuple[CellRow | None, CellTable], new: tuple[CellRow | None, CellTable]
) -> tuple[Candidate, bool]:
    """The metric of two cells; False if their percentages have different base rows, so that they
    cannot be compared."""
    (in_base, of_base), (in_new, of_new) = base, new
    if in_base is not None and in_new is not None and not have_one_base(in_base, in_new, metric):
        return Candidate(metric, None, None), False
    # The folders may define a metric of the same name differently.
    own_base, own_new = own_metric(metric, of_base), own_metric(metric, of_new)
    return Candidate(
        metric,
        a=None if in_new is None or own_new is None else (in_new, own_new),
        base=None if in_base is None or own_base is None else (in_base, own_base),
    ), True
