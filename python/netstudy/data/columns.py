"""The columns of tables: their types, units and meanings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from netstudy.analysis.metrics import Metric
from netstudy.analysis.nodes import node_metric
from netstudy.data.samples import SERIES, columns_of
from netstudy.data.table import Column, ColumnType
from netstudy.data.times import TIME
from netstudy.described import descriptions
from netstudy.report.export import RUNS_PLANNED, RUNS_VALID
from netstudy.study.levels import columns_of_factors, is_numeric, level_text
from netstudy.study.vocabulary import split_metric
from netstudy.wire import HISTOGRAM_TABLES, Level, RequestHistogram, Run, Samples, Treatment

_INT64: Final = range(-(2**63), 2**63)

RUN: Final = Column("run", "string", "", "Id of the run, a hash of its treatment and replicate")
REPLICATE: Final = Column("replicate", "int64", "", "Number of the run in its cell, from 1")
STATUS: Final = Column(
    "status", "string", "", "Status of the run: ok, or invalid; metrics use no invalid run"
)
SAMPLE_INDEX: Final = Column(
    "sample_index",
    "int64",
    "",
    "Place of the row within its run, from 0; other tables refer to a connection by it",
)
CASES: Final = Column("cases", "list<string>", "", "Test cases that use the cell")
RUNS: Final = (
    Column(RUNS_VALID, "int64", "", "Valid runs of the cell so far"),
    Column(RUNS_PLANNED, "int64", "", "Planned runs of the cell"),
)

_SERIES: Final = (
    Column("instrument", "string", "", "The sampler"),
    Column("node", "string", "", "The node that was sampled"),
    Column("port", "string", "", "Port of the node; null: the node as a whole"),
    Column(
        "connection",
        "int64",
        "",
        "Row of the connection; null: the sample is not of a single connection",
    ),
    Column("at_ns", "int64", "ns", "Time of the sample by the node's clock"),
    Column("measure_s", "float64", "s", "Time since the measuring phase began; null: not known"),
    Column(
        "counter",
        "string",
        "",
        "Name of the counter or state; its last part is the unit of its values",
    ),
    Column("value", "uint64", "", "Value of the counter or state; null: it could not be read"),
)
_OF_TIME: Final = {
    "family": "Family of the part, as in the report: work, wire, window, queue, timer, slot, think",
    "reason": "Why it had to happen: own, the bytes of the unit itself; a window without room; "
    "recovery, bytes that were sent again; own-interface, earlier bytes of the connection",
    "place": "Where the time passed, such as serialization, queue or retransmission-timer",
}
"""Columns of the table of times whose meaning is not in the records."""
assert tuple(one.name for one in _SERIES) == SERIES


@dataclass(frozen=True)
class FactorColumns:
    """A column for each factor. The type of a column depends on the levels: integers, numbers,
    booleans or text."""

    factors: tuple[str, ...]
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, factors: Mapping[str, Sequence[Level]], taken: Iterable[str]) -> FactorColumns:
        """The columns of these factors. A factor's column is called `<name>_level` if another
        column has its name."""
        columns = tuple(
            Column(name, _level_type(levels), "", f"Level of the factor {factor}")
            for name, (factor, levels) in zip(
                columns_of_factors(factors, taken), factors.items(), strict=True
            )
        )
        return cls(tuple(factors), columns)

    def levels(self, treatment: Treatment) -> list[Level | None]:
        """The levels of a treatment in the order of the columns; None for a factor that the
        treatment lacks."""
        return [
            _as_text(treatment.get(factor)) if column.type == "string" else treatment.get(factor)
            for factor, column in zip(self.factors, self.columns, strict=True)
        ]


def _as_text(level: Level | None) -> str | None:
    return None if level is None else level_text(level)


def _level_type(levels: Sequence[Level]) -> ColumnType:
    """The type of column that can hold all levels; text if there is no other."""
    if all(isinstance(level, bool) for level in levels):
        return "bool"
    if not is_numeric(levels):
        return "string"
    if any(isinstance(level, float) for level in levels):
        return "float64"
    return "int64" if all(level in _INT64 for level in levels) else "string"


def levels_of(runs: Iterable[Run]) -> dict[str, tuple[Level, ...]]:
    """Factor -> its levels in these runs; `1`, `1.0` and `true` are three different levels."""
    found: dict[str, dict[tuple[type, Level], None]] = {}
    for run in runs:
        for factor, level in run.treatment.items():
            found.setdefault(factor, {})[type(level), level] = None
    return {factor: tuple(level for _, level in levels) for factor, levels in found.items()}


def metric_columns(metric: Metric, *, intervals: bool) -> Iterator[Column]:
    """The value of a metric, and with `intervals` the ends of its confidence interval."""
    yield Column(metric.name, "float64", metric.unit, f"{metric.label}: {metric.formula}")
    for suffix, end in (("low", "Lower"), ("high", "Upper")) if intervals else ():
        meaning = f"{end} end of the 95 % confidence interval of {metric.name}"
        yield Column(f"{metric.name}_{suffix}", "float64", metric.unit, meaning)


def sample_columns(table: str) -> tuple[Column, ...]:
    """The columns of a table of samples, without the columns that describe the run. Raises
    StudyError for an unknown table."""
    names = columns_of(table)
    if table in names:
        end = Column(names[0], "float64", "s", "End of the interval, from the start of the phase")
        return end, next(metric_columns(node_metric(split_metric(table)), intervals=False))
    if names == SERIES:
        return _SERIES
    meanings = _OF_TIME if table == TIME else {}
    return tuple(
        Column(name, "string", "", meanings[name])
        if name in meanings
        else _of_model(_model(table), name)
        for name in names
    )


def _model(table: str) -> Any:
    """The pydantic model for the rows of a table."""
    if table in HISTOGRAM_TABLES:
        return RequestHistogram
    return get_args(Samples.model_fields[table].annotation)[0]


def _of_model(model: Any, name: str) -> Column:
    found = model.model_fields[name]
    meaning = " ".join(descriptions(model).get(name, "").split())
    numbers = int in _types_within(found.annotation)
    # Sums of picoseconds may exceed int64.
    whole: ColumnType = "uint64" if name.endswith("_ps") else "int64"
    return Column(name, whole if numbers else "string", _unit(name), meaning)


def _types_within(annotation: Any) -> set[Any]:
    inner = {found for one in get_args(annotation) for found in _types_within(one)}
    return {annotation} | inner


def _unit(name: str) -> str:
    if name.endswith(("_ns", "_ps")):
        return name[-2:]
    return "B" if name.startswith("bytes_") else ""
