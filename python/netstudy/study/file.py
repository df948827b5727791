"""The model of the study file; the JSON Schema for editors is made from it."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticKnownError

from netstudy.documents.compact import compacted
from netstudy.documents.fields import (
    CountValue,
    NameValue,
    PercentValue,
    ScaleValue,
    SeedValue,
    WordsValue,
)
from netstudy.documents.shapes import OneOrMore
from netstudy.documents.validation import Model, fault, raise_faults
from netstudy.study.agreement import AgreedMetric, BandValue
from netstudy.study.conclusions import AnyConclusion
from netstudy.study.levels import FactorLevels, LevelChoice, LevelValue
from netstudy.study.measured import DeclaredMetric, MeasuredRuns
from netstudy.study.outcome import (
    Compare,
    ExpectationOrText,
    FigureOrName,
    Reference,
    Report,
    RequirementOrText,
    Table,
)
from netstudy.study.procedure import InstrumentByKey, Procedure
from netstudy.study.topology import Topology
from netstudy.study.workloads import Workload

_CARRIED_OUT: Final = (
    "topology", "workload", "procedure", "instruments", "replicates", "testbeds", "cases"
)  # fmt: skip
"""Keys on the making of runs, their cases and their testbeds."""

Hole = dict[NameValue, LevelChoice]
"""Factor -> levels, or `!level` for all levels but this one. Treatments that match for every factor
are not run. `because` gives the reason, which tables show."""
BECAUSE = "because"


class Design(Model):
    """Which treatments are run: factors, fixed levels, and holes."""

    description: WordsValue | None = None
    """Description of the test case, in a paragraph."""
    factors: dict[NameValue, FactorLevels] = Field(default_factory=dict)
    """Factors that vary. All combinations of their levels are run, except for zip and holes. Tables
    show the factors in this order."""
    fixed: dict[NameValue, LevelValue] = Field(default_factory=dict)
    """Factors held at one level: in a case, for this case; at the top of the file, for all
    cases."""
    zip: tuple[tuple[NameValue, ...], ...] = ()
    """Groups of factors that vary together: the first level of one with the first level of the
    others, and so on. All factors of a group need the same number of levels."""
    holes: tuple[Hole, ...] = ()
    """Treatments that are not run: for each factor a level, several levels, or `!level` for all
    levels but this one; `because: …` gives the reason."""


class Quick(Model):
    """The study's own short form, for `--quick`."""

    only: dict[NameValue, LevelChoice] = Field(default_factory=dict)
    """Factor -> the levels that are kept."""
    set: dict[WordsValue, LevelValue] = Field(default_factory=dict)
    """Path -> value, written as for `--set`."""


class Variant(Quick):
    """A testbed's version of the study: fewer cells, smaller blocks, slower links, other factors.

    Nothing is changed silently: a setting that a testbed does not support is refused unless the
    study replaces it here.
    """

    description: WordsValue | None = None
    """Why the testbed runs this variant instead of the unchanged study."""
    scale: ScaleValue | None = None
    """Factor for the rates of links, shapers, policers and varying rates, such as 1/10; `--scale`
    takes precedence. Sizes, such as the burst of a shaper, and delays stay as they are."""
    factors: dict[NameValue, FactorLevels] = Field(default_factory=dict)
    """Factors to add; they replace the study's factors of the same name."""
    without: Annotated[tuple[WordsValue, ...], OneOrMore()] = ()
    """Parts of the study that this variant leaves out, written as for `--without`: `figures[1]`,
    `conclude.compare`."""
    quick: Quick = Quick()
    """The short form of this variant."""


class StudyFile(Design):
    """A study: its question, factors, network, load, and the contents of its report."""

    study: NameValue
    """Short name; results go to results/<name>/."""
    question: WordsValue
    """The question that the study answers."""
    expectation: WordsValue | None = None
    """The outcome that the author expects before the study is run, and why."""
    expect: Annotated[tuple[ExpectationOrText, ...], OneOrMore()] = ()
    """The expectation as conditions on the outcome; the report confirms or refutes each condition,
    or leaves it undecided."""
    author: Annotated[tuple[WordsValue, ...], OneOrMore()] = ()
    """Who made the study; one or several."""
    cases: dict[WordsValue, Design] = Field(default_factory=dict)
    """Test cases by name. Cases that have a treatment in common share its runs."""
    measured: MeasuredRuns | None = None
    """Files with runs that were measured elsewhere, in place of topology and workload."""
    topology: Topology | None = Field(default=None, validate_default=True)
    """Hosts, switches, links."""
    workload: Workload | None = Field(default=None, validate_default=True)
    """The workload of the hosts."""
    metrics: dict[NameValue, DeclaredMetric] = Field(default_factory=dict)
    """Metrics that the study itself declares, for columns of its tables and for formats of its
    own; also another direction or number of decimals for a metric of a format."""
    procedure: Procedure = Procedure()
    """The phases of a run."""
    instruments: tuple[InstrumentByKey, ...] = ()
    """Instruments that run in addition to the workload's own records."""
    replicates: CountValue = 1
    """Independent runs of each treatment. All runs of a replicate are in one block of the random
    order."""
    seed: SeedValue = 1
    """Seed of all random numbers; the command line may give another one."""
    noise: PercentValue | None = None
    """Differences in percent that are smaller than this do not count as differences."""
    compare: Compare | None = None
    """The comparison that the verdict is about."""
    report: Report = Report()
    """The title, tables and figures of the report."""
    tables: tuple[Table, ...] = ()
    """Short for report.tables."""
    figures: tuple[FigureOrName, ...] = ()
    """Short for report.figures."""
    conclude: tuple[AnyConclusion, ...] = ()
    """Conclusions to draw from the data."""
    require: tuple[RequirementOrText, ...] = ()
    """Conditions that the outcome must satisfy, such as completion_ms_p99 < 500."""
    agreement: dict[AgreedMetric, BandValue] = Field(default_factory=dict)
    """Metric, or a figure's short name -> difference that `netstudy compare` tolerates: in percent
    of the first value, in the metric's unit, or both (20 % or 0.5). If both are given, it is enough
    to meet one of them."""
    reference: Annotated[tuple[Reference, ...], OneOrMore()] = ()
    """Published measurements to show next to the study's own."""
    quick: Quick = Quick()
    """The short form that `--quick` runs."""
    testbeds: dict[NameValue, Variant] = Field(default_factory=dict)
    """Testbed -> the variant of the study that this testbed runs."""

    @field_validator("topology", "workload", mode="before")
    @classmethod
    def _is_needed(cls, value: object, info: ValidationInfo) -> object:
        """Miss the key, unless runs were measured elsewhere or that part is wrong itself."""
        if value is None and info.data.get("measured", "wrong") is None:
            raise PydanticKnownError("missing")
        return value

    @model_validator(mode="after")
    def _files_need_nothing_else(self) -> StudyFile:
        if self.measured is None and self.metrics:
            raise fault("is for runs that were measured elsewhere; add measured", "metrics")
        given = self.model_fields_set.intersection(_CARRIED_OUT) if self.measured else ()
        faults = [
            fault("has no effect on runs that were measured elsewhere; leave it out", key)
            for key in _CARRIED_OUT
            if key in given
        ]
        raise_faults(faults, type(self).__name__)
        return self

    @model_validator(mode="after")
    def _one_design(self) -> StudyFile:
        if self.cases and self.factors:
            raise fault(
                "the study has factors outside of its cases; move them into the cases", "cases"
            )
        if not self.cases and not self.factors:
            raise fault("needs factors, or cases that have them")
        for key in ("zip", "holes"):
            if self.cases and getattr(self, key):
                raise fault("belongs into the cases, because the study has cases", key)
        return self


def json_schema() -> dict[str, Any]:
    """The JSON Schema of study files, for editors and for checks by other tools."""
    schema = compacted(StudyFile.model_json_schema(by_alias=True))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "netstudy study file",
    }
