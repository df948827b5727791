"""Contents of a study's report: comparison, tables, figures, conclusions, reference data."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema, core_schema

from netstudy.documents.fields import (
    CountValue,
    DurationValue,
    NameValue,
    PercentValue,
    Scalar,
    SwitchedValue,
    Text,
    Typed,
    WholeValue,
    WordsValue,
)
from netstudy.documents.problems import listed
from netstudy.documents.shapes import OneOrMore, Short
from netstudy.documents.validation import Model, describe, fault
from netstudy.study.levels import LevelChoice, LevelValue
from netstudy.study.vocabulary import (
    STANDARD_FIGURES,
    Measured,
    MetricName,
    StandardFigure,
    in_unit_of,
    metrics_in_study,
    sampled_metrics,
    split_metric,
)

Metrics = Annotated[tuple[Measured, ...], OneOrMore()]
"""One metric or a list of them."""
FactorNames = Annotated[tuple[NameValue, ...], OneOrMore()]
"""One factor or a list of them."""


class _ColumnName(Scalar):
    """A factor or a metric."""

    def parse(self, value: object) -> MetricName | str:
        """Read a metric. Any other text must be the name of a factor, which is checked later."""
        text = Text().parse(value)
        try:
            return split_metric(text)
        except ValueError:
            return text

    def json_schema(self) -> dict[str, Any]:
        """Text."""
        return Text().json_schema()

    @property
    def definition(self) -> str | None:
        """Text."""
        return Text().definition


Column = Annotated[MetricName | str, Typed(_ColumnName(), refs=False)]
"""A metric, or the name of a factor; a factor of the study has precedence."""


class Compare(Model):
    """A comparison of the levels of one factor with a base level."""

    factor: NameValue
    """The factor whose levels are compared."""
    base: LevelValue
    """The level that the others are compared with."""
    margin_pct: PercentValue | None = Field(default=None, alias="noise")
    """Differences in percent that are smaller than this do not count as differences; by default,
    the study's noise."""
    on: Metrics = ()
    """Metrics to compare; the first one decides. By default, the workload's own metrics."""


FIRST_ROW = "first row"


class FirstRow:
    """Lets the first row of a table be written as `first row`; other rows are written as their
    levels."""

    def _named(self, value: object) -> object:
        if isinstance(value, str) and value != FIRST_ROW:
            raise fault(f'must be "{FIRST_ROW}" or the levels of a row, not {describe(value)}')
        return {} if value == FIRST_ROW else value

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Read `first row` as an empty map."""
        return core_schema.no_info_before_validator_function(self._named, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The words `first row`, or the map."""
        return {"anyOf": [{"const": FIRST_ROW}, handler(schema)]}


class Normal(Model):
    """The base value, 100 %, of a column that is shown in percent."""

    row: Annotated[dict[NameValue, LevelValue], FirstRow()] = Field(default_factory=dict)
    """The row with the base value: `first row`, or the row's levels."""
    by: Measured | None = None
    """The metric whose value in this row is 100 %; by default, the column's own metric."""


class EmptyCell(Model):
    """Why cells of a table have no value."""

    because: WordsValue
    """The reason, as printed under the table."""
    at: dict[NameValue, LevelValue] = Field(default_factory=dict)
    """The levels of the row, and also of the columns if factors make the columns; by default, every
    row."""
    column: Measured | None = None
    """The metric of the column; by default, every column."""


class Table(Model):
    """A table: one row per combination of the row factors."""

    title: WordsValue | None = None
    """The title; by default, the report makes one."""
    case: WordsValue | None = None
    """The test case that is shown; by default, all test cases."""
    rows: FactorNames
    """Factors that make the rows. Each combination of levels of the other varying factors has a
    table of its own; a growing factor is shown at its best level."""
    columns: Annotated[tuple[Column, ...], OneOrMore()]
    """Metrics, and factors whose level is shown in the row; with `cell`, factors whose levels make
    the columns."""
    cell: Metrics = ()
    """Metrics shown in the cells when factors make the columns; several metrics make a header of
    two rows."""
    show: Literal["mean", "every replicate"] = "mean"
    """Whether replicates are averaged, or each is shown in a row of its own."""
    heads: dict[WordsValue, Annotated[tuple[Column, ...], OneOrMore()]] = Field(
        default_factory=dict
    )
    """Headings above several columns: heading -> the columns below it, next to each other."""
    titles: dict[Column, WordsValue] = Field(default_factory=dict)
    """Column -> heading that replaces the report's own name for it."""
    normalise: dict[Measured, Annotated[Normal, Short("row", "`first row`")]] = Field(
        default_factory=dict
    )
    """Columns shown in percent of a base row: `{etr_per_s: first row}`, or
    `{itr_per_s: {by: etr_per_s, row: {release: a}}}`."""
    decimals: dict[Measured, WholeValue] = Field(default_factory=dict)
    """Column -> number of decimals, in place of the metric's usual number."""
    significant: dict[Measured, CountValue] = Field(default_factory=dict)
    """Column -> number of significant digits, in place of a number of decimals."""
    empty: tuple[EmptyCell, ...] = ()
    """Reasons for cells without a value."""

    def metrics(self, factors: Container[str]) -> tuple[MetricName, ...]:
        """The metrics that the table shows; `factors` are the factors of the study."""
        return (*self.metric_columns(factors), *self.cell)

    def metric_columns(self, factors: Container[str]) -> Iterator[MetricName]:
        """The columns that are metrics; `factors` are the factors of the study."""
        for name in self.columns:
            if isinstance(name, MetricName) and str(name) not in factors:
                yield name

    def factor_columns(self, factors: Container[str]) -> tuple[str, ...]:
        """The columns that are factors; `factors` are the factors of the study."""
        return tuple(text for text in map(str, self.columns) if text in factors)


DistributionKind = Literal["ecdf", "box", "histogram", "samples over time"]
"""Kinds of figures that show the samples of one quantity."""
DISTRIBUTION_KINDS: Final[tuple[DistributionKind, ...]] = get_args(DistributionKind)
FigureKind = Literal["lines", "bars", "time series", "size law", DistributionKind]
Fit = Literal["linear", "amdahl", "usl", "latency + size/bandwidth"]


class Figure(Model):
    """A figure: the name of a standard figure, or axes, series and additional lines."""

    name: Annotated[
        str | None, Typed(StandardFigure(tuple(STANDARD_FIGURES), "a figure"), refs=False)
    ] = None
    """A standard figure, such as completion, drops, retransmissions or goodput."""
    kind: FigureKind = "lines"
    """`lines` against a factor, `bars`, `time series` of a node or of goodput_mbps of transfers, or
    `size law` (time against size). For the samples of one quantity such as completion_ms: `ecdf`,
    `box`, `histogram`, `samples over time`."""
    title: WordsValue | None = None
    """The title; by default, the report makes one."""
    case: WordsValue | None = None
    """The test case that is shown; by default, all test cases."""
    x: NameValue | None = None
    """The factor on the x axis."""
    y: Metrics = ()
    """Metrics that are drawn."""
    y2: Measured | None = None
    """A second metric with its own axis on the right; not possible with bars."""
    series: FactorNames = ()
    """Factors whose levels make the lines: one line for each combination."""
    panel: NameValue | None = None
    """The factor whose levels make the panels."""
    fit: Annotated[tuple[Fit, ...], OneOrMore()] = ()
    """Laws fitted to the points."""
    ideal: Literal["linear"] | bool = False
    """Whether to draw ideal growth from the first point."""
    line_rate: SwitchedValue = Field(default=False, alias="line rate")
    """Whether to draw the line rate of the link."""
    beside: Measured | None = None
    """A metric of another instrument, drawn for comparison."""

    @property
    def metrics(self) -> tuple[MetricName, ...]:
        """The metrics that the figure draws; empty for a standard figure, whose name implies
        them."""
        return (*self.y, *(name for name in (self.y2, self.beside) if name is not None))

    @model_validator(mode="after")
    def _says_what(self) -> Figure:
        if self.name is not None:
            own = sorted(self.model_fields_set - {"name", "title", "case"})
            if own:
                key = type(self).model_fields[own[0]].alias or own[0]
                advice = f"leave out {key}, or write x and y in place of the name"
                raise fault(f"the standard figure {self.name} cannot be changed; {advice}")
            return self
        if not self.y:
            raise fault("needs y (the metrics to draw), or the name of a standard figure")
        if self.is_distribution:
            self._check_distribution()
        elif self.kind != "time series" and self.x is None:
            raise fault("needs x, the factor along the x axis")
        if self.kind == "bars" and self.y2 is not None:
            raise fault(
                "bars have only one axis; draw this metric in its own figure, or use lines", "y2"
            )
        return self

    @property
    def is_distribution(self) -> bool:
        """Whether the figure shows the samples of one quantity."""
        return self.name is None and self.kind in DISTRIBUTION_KINDS

    def _check_distribution(self) -> None:
        own = sorted(self.model_fields_set - {"kind", "y", "title", "case"})
        if own:
            key = type(self).model_fields[own[0]].alias or own[0]
            raise fault(f"{self.kind} has its own axes and series; leave out {key}", key)
        if len(self.y) != 1:
            raise fault(f"{self.kind} shows one quantity", "y")
        metric = self.y[0]
        sampled = sampled_metrics()
        drawn = [*sampled]
        ordered = [base for base, one in sampled.items() if one.samples == "each"]
        known = ordered if self.kind in ("histogram", "samples over time") else drawn
        if metric.base not in known or metric.statistic or metric.limit or metric.scope:
            message = f"{self.kind} shows the samples of {listed(metrics_in_study(known) or known)}"
            raise fault(f"{message}, not {self.y[0]}", "y")


FigureOrName = Annotated[Figure, Short("name")]


class Report(Model):
    """Contents of the report."""

    title: WordsValue | None = None
    """The title; by default, the study's question."""
    tables: tuple[Table, ...] = ()
    """Tables in their order."""
    figures: tuple[FigureOrName, ...] = ()
    """Figures in their order."""


class ReferenceMetric(Model):
    """The metric in a column of the reference file: the same metric in all rows, or for each row
    the metric that another column names."""

    name: Measured | None = None
    """The metric, if it is the same in all rows. The values are in the unit of the metric."""
    by: WordsValue | None = None
    """The column that says which metric a row has."""
    names: dict[WordsValue, Measured] = Field(default_factory=dict)
    """Text in the column `by` -> the metric."""

    @model_validator(mode="after")
    def _says_which(self) -> ReferenceMetric:
        if self.by is None and self.names:
            raise fault("needs by, the column that says which metric a row holds", "names")
        if self.by is not None and not self.names:
            raise fault("needs names, which maps its texts to metrics", "by")
        if (self.name is None) == (self.by is None):
            raise fault("needs a metric, or by and names if rows hold different metrics")
        return self

    @property
    def metrics(self) -> tuple[MetricName, ...]:
        """The metrics that the column may have."""
        return (self.name,) if self.name else tuple(self.names.values())


class ReferenceColumn(Model):
    """The contents of one column of the reference file."""

    metric: Annotated[ReferenceMetric, Short("name", "a metric")]
    """The metric; or a map of `by`, the column that says which metric it is, and `names`, the
    metrics."""
    at: dict[NameValue, LevelValue] = Field(default_factory=dict)
    """Levels at which the whole column was measured."""


class ReferenceLevels(Model):
    """The column of the reference file that gives the level of a factor for each row."""

    column: WordsValue
    """The column."""
    names: dict[WordsValue, LevelValue] = Field(default_factory=dict)
    """Text in this column -> the level, for levels that the file writes differently from the
    study."""


class Explained(Model):
    """Why the study's own values differ from published ones."""

    because: WordsValue
    """The reason, as printed next to the size of the difference."""
    at: dict[NameValue, LevelValue] = Field(default_factory=dict)
    """The levels of the values that this reason explains; by default, all levels."""
    metric: Measured | None = None
    """The metric that this reason explains; by default, every metric."""


class MeasuredTable(Model):
    """A CSV file with measurements: which columns have levels, and which have metrics."""

    file: WordsValue
    """Path of a CSV file, relative to the study's folder."""
    rows: dict[WordsValue, Annotated[tuple[LevelValue, ...], OneOrMore()]] = Field(
        default_factory=dict
    )
    """Column -> the text, or a list of texts, that selects rows; by default, all rows are used."""
    at: dict[NameValue, LevelValue] = Field(default_factory=dict)
    """Levels at which the whole file was measured."""
    factors: dict[NameValue, Annotated[ReferenceLevels, Short("column")]] = Field(
        default_factory=dict
    )
    """Factor -> the column that has the levels of this factor."""
    repetition: WordsValue | None = None
    """The column that numbers repetitions; the rows of one cell are then its replicates."""
    columns: dict[WordsValue, ReferenceColumn]
    """Column -> the metric in this column."""


class Reference(MeasuredTable):
    """Published measurements, which are shown next to the study's own results or replace them."""

    source: WordsValue
    """Author and publication of the measurements."""
    case: WordsValue | None = None
    """The test case that the data belong to; by default, every case that has the levels of a
    row."""
    fitted: tuple[dict[NameValue, LevelValue], ...] | None = None
    """The cells, each given by its levels, to whose values a profile was fitted. Agreement in these
    cells does not validate the model, so the report marks them. `netstudy calibrate` fits only to
    these cells and, as a blind check, shows the model's predictions for all other cells; with `[]`,
    the whole file is used for the check."""
    explained: tuple[Explained, ...] = ()
    """Reasons why the study's own values differ from the published ones; the first reason that
    applies to a value counts. If a large difference has no reason, the report calls it
    unexplained."""
    measured: DurationValue | None = None
    """Length of the source's measuring phase. Totals of a run, such as segments sent again, are
    compared directly if the study's own phase is as long, else per second."""
    counted: CountValue | None = None
    """Number of iterations, transfers or requests in the source's measuring phase. Totals of a run
    are compared by it if `measured` is missing. Without both, they are not compared."""


_HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Bound:
    """A condition: a metric must be above or below a number."""

    metric: MetricName
    sign: str
    value: float
    """The number, in the unit in which the metric's name ends."""

    def holds(self, value: float) -> bool:
        """Whether a value satisfies the condition."""
        return _HOLDS[self.sign](value, self.value)


@dataclass(frozen=True)
class Condition(Scalar):
    """A metric compared with a number, which is in the metric's unit or has a unit:
    `response_ms_mean < 1000`, `response_ms_mean < 1 s`."""

    def parse(self, value: object) -> Bound:
        """Read `metric < number` or `metric < number unit`."""
        text = Text().parse(value)
        match = re.fullmatch(r"(\S+?)\s*(<=|>=|<|>)\s*(\d+(?:\.\d+)?)\s*([^\s\d.]\S*)?", text)
        if match is None:
            raise ValueError(f'"{text}" is not a condition, such as response_ms_mean < 1000')
        metric = split_metric(match[1])
        number = match[3] if match[4] is None else in_unit_of(metric, match[3], match[4])
        return Bound(metric, match[2], float(number))

    def json_schema(self) -> dict[str, Any]:
        """Text of a metric, a sign and a number."""
        return {"type": "string", "pattern": r"^\S+ ?(<=|>=|<|>) ?\d+(\.\d+)?( ?[^\s\d.]\S*)?$"}

    @property
    def definition(self) -> str:
        """A metric and its bound."""
        return "Condition"


ConditionValue = Annotated[Bound, Typed(Condition(), refs=False)]


class Requirement(Model):
    """A condition that cells must satisfy; if a cell does not, `run` ends with exit code 1."""

    that: ConditionValue
    """Metric, sign and number, such as completion_ms_p99 < 500. A number without a unit is in the
    unit in which the metric's name ends; other units are possible, as in completion_ms_p99 < 0.5
    s."""
    at: dict[NameValue, LevelChoice] = Field(default_factory=dict)
    """Factor -> the levels at which the condition must hold; by default, in every cell."""


RequirementOrText = Annotated[Requirement, Short("that")]


class Expectation(Model):
    """An expected outcome: a condition, or which of two levels has the lower or higher value. The
    report says whether the runs confirm or refute it, or leave it undecided."""

    that: ConditionValue | None = None
    """Metric, sign and number, such as completion_ms_p99 < 500 ms."""
    lower: Measured | None = None
    """The metric that is expected to be lower at the levels in `with` than at the levels in `than`,
    by more than the study's noise."""
    higher: Measured | None = None
    """The metric that is expected to be higher at the levels in `with` than at the levels in
    `than`."""
    same: Measured | None = None
    """The metric that is expected to be the same within the study's noise."""
    with_: dict[NameValue, LevelValue] = Field(default_factory=dict, alias="with")
    """Factor -> the factor's level on the first side of the comparison."""
    than: dict[NameValue, LevelValue] = Field(default_factory=dict)
    """Factor -> the factor's level on the second side, for the same factors as in `with`. `lower`,
    `higher` and `same` need both sides."""
    at: dict[NameValue, LevelChoice] = Field(default_factory=dict)
    """Factor -> the levels at which the outcome is expected; by default, all levels."""

    @property
    def metric(self) -> MetricName:
        """The metric that the expectation is about."""
        named = self.that.metric if self.that else self.lower or self.higher or self.same
        assert named is not None, "it says one of them"
        return named

    @model_validator(mode="after")
    def _says_one_thing(self) -> Expectation:
        said = [key for key in ("that", "lower", "higher", "same") if getattr(self, key)]
        if len(said) != 1:
            raise fault("needs one of: that, lower, higher, same")
        if self.that:
            for key, sides in (("with", self.with_), ("than", self.than)):
                if sides:
                    raise fault("is only for lower, higher and same", key)
            return self
        if not self.with_ or not self.than:
            key = "than" if self.with_ else "with"
            raise fault(
                f"needs {key}, the levels on the {'second' if self.with_ else 'first'} side"
            )
        if self.with_.keys() != self.than.keys():
            raise fault("must name the same factors as with", "than")
        if {k: str(v) for k, v in self.with_.items()} == {k: str(v) for k, v in self.than.items()}:
            raise fault("has the same levels as with; the two sides must differ", "than")
        both = sorted(self.at.keys() & self.with_.keys())
        if both:
            raise fault(f"gives a level of {both[0]}, and so do with and than; keep one", "at")
        return self


ExpectationOrText = Annotated[Expectation, Short("that")]
