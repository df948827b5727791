"""Compares two results folders, of one study or of two related ones, cell by cell.

Cells are matched by test case and by the levels of the factors that both folders have. Cells cannot
be matched by a factor that only one folder has, or that has a single level in each folder, but not
the same one. Such a factor is reported, and a cell of one folder may then be compared with several
cells of the other. Two folders that each vary a factor that the other lacks are refused, because a
pair of cells would mix the effects of both factors.

The difference, second minus first, has Welch's interval from the replicates of both cells. The
difference itself, not the interval, decides whether it is inside a declared band; the interval
shows how certain that verdict is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.intervals import Estimate, Interval, student_interval
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import figure_named, metric_named
from netstudy.analysis.ratio import welch_df
from netstudy.analysis.settings import settings_of
from netstudy.documents.problems import listed
from netstudy.errors import StudyError
from netstudy.study.agreement import Band, Bands
from netstudy.study.levels import level_text
from netstudy.study.vocabulary import MEASURED, MetricName
from netstudy.wire import Level, Treatment

Outcome = Literal["inside", "outside", "not measured"]
Key = tuple[str | None, ...]
_NO_CASE = ""
"""Used as the test case in the key of a cell, if the other folder has none of the cell's test
cases."""


@dataclass(frozen=True)
class Difference:
    """One metric of two matched cells."""

    metric: Metric
    a: Estimate | None
    b: Estimate | None
    band: Band | None
    named: bool
    """Whether the band was given for this metric by name: then the metric must have values."""

    @property
    def value(self) -> float | None:
        """Second minus first."""
        return None if self.a is None or self.b is None else self.b.value - self.a.value

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the difference; None if either cell was not repeated."""
        a, b, value = self.a, self.b, self.value
        if a is None or b is None or value is None or a.variance is None or b.variance is None:
            return None
        return student_interval(value, a.variance + b.variance, welch_df(a, b))

    @property
    def pct(self) -> float | None:
        """The difference in percent of the first value; None if that is 0."""
        if self.a is None or self.value is None or self.a.value == 0:
            return None
        return 100 * self.value / self.a.value

    @property
    def outcome(self) -> Outcome | None:
        """Whether the difference is inside the band; None without a band, or without values."""
        if self.band is None or (self.a is None and self.b is None and not self.named):
            return None
        if self.a is None or self.b is None:
            return "not measured"
        return "inside" if self.band.holds(self.a.value, self.b.value) else "outside"

    @property
    def sure(self) -> bool | None:
        """Whether every value in the interval has the same outcome as the difference itself; None
        without an interval."""
        if self.a is None or self.band is None or self.interval is None:
            return None
        reach = self.band.reach(self.a.value)
        if self.outcome == "inside":
            return self.interval.inside(-reach, reach)
        return self.interval.low > reach or self.interval.high < -reach

    @property
    def broken(self) -> bool:
        """Whether the cells disagree: a value is outside its band, or a required one is missing."""
        return self.outcome in ("outside", "not measured")


@dataclass(frozen=True, eq=False)
class CellPair:
    """Two cells that match."""

    treatment: Treatment
    """The levels that both cells have, without factors that have one level per folder, but
    different ones."""
    a: CellRow
    b: CellRow
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Apart:
    """A factor that was not used to match cells."""

    factor: str
    a: tuple[Level, ...]
    """Its levels in the first folder; empty if that folder lacks it."""
    b: tuple[Level, ...]


@dataclass(frozen=True)
class Setting:
    """A value of the plan that differs in matched cells."""

    path: str
    a: tuple[Any, ...]
    """The values in the cells of the first folder, each once."""
    b: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class FolderComparison:
    """The matched cells of two folders and their differences."""

    metrics: tuple[Metric, ...]
    matched_by: tuple[str, ...]
    apart: tuple[Apart, ...]
    pairs: tuple[CellPair, ...]
    only_a: tuple[CellRow, ...]
    only_b: tuple[CellRow, ...]
    settings: tuple[Setting, ...]

    @property
    def broken(self) -> tuple[tuple[CellPair, Difference], ...]:
        """Values outside their band, and required values that are missing."""
        return tuple((pair, one) for pair, one in self._all() if one.broken)

    @property
    def judged(self) -> int:
        """Number of values that have a band."""
        return sum(one.outcome is not None for _, one in self._all())

    def _all(self) -> Iterator[tuple[CellPair, Difference]]:
        return ((pair, one) for pair in self.pairs for one in pair.differences)


def comparison(a: CellTable, b: CellTable, bands: Bands) -> FolderComparison:
    """Matches the cells of two folders and compares them in the metrics of either folder.

    Exported metrics are always compared, others only with a band. Raises StudyError for a band on a
    metric that neither folder has, and for folders that each vary a factor the other lacks.
    """
    names = {metric.name for metric in a.metrics}
    either = (*a.metrics, *(metric for metric in b.metrics if metric.name not in names))
    among = (*either, *a.further, *b.further)
    by_metric = {**_by_metric(bands.named, among), **_by_metric(bands.asked, among)}
    exported = [m for m in (*either, *_asked(a, b)) if m.exported or m in by_metric]
    metrics = tuple(dict.fromkeys((*exported, *by_metric)))
    apart = tuple(_apart(a, b))
    shared = tuple(name for name in a.factors if name in b.factors)
    matched_by = tuple(name for name in shared if name not in {one.factor for one in apart})
    cases = frozenset(a.cases) & frozenset(b.cases)
    of_b = _by_key(b.rows, matched_by, cases)
    of_a = _by_key(a.rows, matched_by, cases)
    _refuse_mixed(of_a, of_b, matched_by, apart)
    # Two folders may define a metric of the same name differently, so each folder's own definition
    # is used.
    compared = [
        (m, own_metric(m, a), own_metric(m, b), by_metric.get(m, bands.other)) for m in metrics
    ]
    pairs = tuple(
        CellPair(
            _treatment(left, right, shared, matched_by),
            left,
            right,
            tuple(
                Difference(m, _value(left, in_a), _value(right, in_b), band, m in by_metric)
                for m, in_a, in_b, band in compared
            ),
        )
        for left, right in _matched(of_a, of_b)
    )
    with_match = {id(row) for pair in pairs for row in (pair.a, pair.b)}
    return FolderComparison(
        metrics=metrics,
        matched_by=matched_by,
        apart=apart,
        pairs=pairs,
        only_a=tuple(row for row in a.rows if id(row) not in with_match),
        only_b=tuple(row for row in b.rows if id(row) not in with_match),
        settings=tuple(_settings(pairs)),
    )


def _asked(a: CellTable, b: CellTable) -> Iterator[Metric]:
    """The metrics that either study names in addition to its workload's."""
    yield from a.asked
    yield from b.asked


def _by_metric(
    named: Mapping[MetricName | str, Band], among: Sequence[Metric]
) -> dict[Metric, Band]:
    found: dict[Metric, Band] = {}
    for name, band in named.items():
        metric = metric_of(name, among)
        if metric is None:
            raise StudyError(f"neither run gives {name}, but a band is given for this metric")
        if metric in found:
            other = next(one for one in named if metric_of(one, among) == metric)
            raise StudyError(f"{other} and {name} are one metric: give it one band")
        found[metric] = band
    return found


def metric_of(name: MetricName | str, among: Sequence[Metric]) -> Metric | None:
    """The metric with this name, or the metric whose figure has this name."""
    drawn = figure_named(str(name), among)
    return metric_named(name, among) if drawn is None and isinstance(name, MetricName) else drawn


def _apart(a: CellTable, b: CellTable) -> Iterator[Apart]:
    """Factors that only one folder has, or that have a single level in each folder, but not the
    same one."""
    for name in dict.fromkeys((*a.factors, *b.factors)):
        left, right = a.factors.get(name, ()), b.factors.get(name, ())
        held = len(left) == len(right) == 1 and level_text(left[0]) != level_text(right[0])
        if not left or not right or held:
            yield Apart(name, left, right)


def _by_key(
    rows: Iterable[CellRow], factors: Sequence[str], cases: frozenset[str]
) -> dict[Key, list[CellRow]]:
    """Cells by their levels and by each of their test cases that both folders have."""
    found: dict[Key, list[CellRow]] = {}
    for row in rows:
        levels = (row.treatment.get(name) for name in factors)
        texts = tuple(None if level is None else level_text(level) for level in levels)
        for case in [one for one in row.cases if one in cases] or [_NO_CASE]:
            found.setdefault((case, *texts), []).append(row)
    return found


def _matched(
    of_a: Mapping[Key, Sequence[CellRow]], of_b: Mapping[Key, Sequence[CellRow]]
) -> Iterable[tuple[CellRow, CellRow]]:
    """Pairs of matching cells, each once even if they match in several test cases."""
    pairs = (
        (left, right)
        for key, lefts in of_a.items()
        for left in lefts
        for right in of_b.get(key, ())
    )
    return {(id(left), id(right)): (left, right) for left, right in pairs}.values()


def _refuse_mixed(
    of_a: Mapping[Key, Sequence[CellRow]],
    of_b: Mapping[Key, Sequence[CellRow]],
    matched_by: Sequence[str],
    apart: Sequence[Apart],
) -> None:
    """Refuses two folders whose cells match many-to-many."""
    if not any(len(rows) > 1 and len(of_b.get(key, ())) > 1 for key, rows in of_a.items()):
        return
    own_a = listed([one.factor for one in apart if len(one.a) > 1]) or "its test cases"
    own_b = listed([one.factor for one in apart if len(one.b) > 1]) or "its test cases"
    shared = f"both vary {listed(list(matched_by))}" if matched_by else "no factor is in both"
    raise StudyError(
        f"the cells cannot be matched one by one: {shared}; only BASE varies {own_a}, only NEW "
        f"varies {own_b}. Compare folders with the same factors, "
        "or run one study again with its extra factor held at one level (--only FACTOR=LEVEL)"
    )


def _treatment(
    a: CellRow, b: CellRow, shared: Sequence[str], matched_by: Sequence[str]
) -> Treatment:
    held = set(shared) - set(matched_by)
    return {
        name: level for name, level in {**b.treatment, **a.treatment}.items() if name not in held
    }


def own_metric(metric: Metric, table: CellTable) -> Metric | None:
    """A folder's own metric of that name; None if its runs have no such metric.

    Two folders may compute a metric differently: values of a table have no samples, and workloads
    share names."""
    known = {one.name: one for one in (*table.further, *table.asked, *table.metrics)}
    if table.workload.kind == MEASURED:
        return known.get(metric.name)
    own = known.get(metric.name)
    if own is not None or metric.named is None:
        return own
    return metric_named(metric.named, table.vocabulary)


def _value(cell: CellRow, metric: Metric | None) -> Estimate | None:
    return None if metric is None else cell.estimate(metric)


def _settings(pairs: Sequence[CellPair]) -> Iterator[Setting]:
    """Values that differ between two matched cells, by their path."""
    found: dict[str, tuple[dict[Any, None], dict[Any, None]]] = {}
    for pair in pairs:
        left, right = settings_of(pair.a.planned[0]), settings_of(pair.b.planned[0])
        if not left or not right:
            continue  # the settings of one run are unknown
        for path in dict.fromkeys((*left, *right)):
            if left.get(path) != right.get(path):
                sides = found.setdefault(path, ({}, {}))
                sides[0][left.get(path)] = None
                sides[1][right.get(path)] = None
    for path, (in_a, in_b) in found.items():
        yield Setting(path, tuple(in_a), tuple(in_b))
