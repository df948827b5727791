"""The study file as it is written: the model that editors' JSON Schema is made from."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

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
from netstudy.documents.validation import Model, fault
from netstudy.study.agreement import AgreedMetric, BandValue
from netstudy.study.levels import FactorLevels, LevelChoice, LevelValue
from netstudy.study.outcome import (
    AnyConclusion,
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

Hole = dict[NameValue, LevelChoice]
"""Factor -> levels, or `!level` for all others; a cell is left out where every factor matches.
`because` gives the reason, as tables show it."""
BECAUSE = "because"


class Design(Model):
    """Which treatments are run: factors, fixed levels, and holes."""

    description: WordsValue | None = None
    """Description of the test case, in a paragraph."""
    factors: dict[NameValue, FactorLevels] = Field(default_factory=dict)
    """Factors that vary. The full product is run, in this order, unless zip or holes say
    otherwise."""
    fixed: dict[NameValue, LevelValue] = Field(default_factory=dict)
    """Factors held at one level: inside a case for this case, at the top of the file for every
    case."""
    zip: tuple[tuple[NameValue, ...], ...] = ()
    """Groups of factors that vary together, first level with first; all factors of a group need the
    same number of levels."""
    holes: tuple[Hole, ...] = ()
    """Treatments that are not run: factor to level, levels, or `!level` for every other one, and
    `because: …` for the reason."""


class Quick(Model):
    """The study's own short form, for `--quick`."""

    only: dict[NameValue, LevelChoice] = Field(default_factory=dict)
    """Factor -> the levels that are kept."""
    set: dict[WordsValue, LevelValue] = Field(default_factory=dict)
    """Path -> value, as `--set` takes them."""


class Variant(Quick):
    """A testbed's version of the study: fewer cells, smaller blocks, slower links, other factors.

    Nothing is changed silently: a setting that a testbed does not support is refused unless the
    study replaces it here.
    """

    description: WordsValue | None = None
    """Why the testbed runs this variant and not the study as it is."""
    scale: ScaleValue | None = None
    """Factor for all link rates, such as 1/10; `--scale` takes precedence."""
    factors: dict[NameValue, FactorLevels] = Field(default_factory=dict)
    """Factors to add; a factor of the same name is replaced."""
    without: Annotated[tuple[WordsValue, ...], OneOrMore()] = ()
    """Parts of the study that this variant leaves out, as `--without` names them: `figures[1]`,
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
    """The outcome that its author expects before it is run, and why."""
    expect: Annotated[tuple[ExpectationOrText, ...], OneOrMore()] = ()
    """The expectation as conditions on the outcome; the report confirms or refutes each condition,
    or leaves it undecided."""
    author: Annotated[tuple[WordsValue, ...], OneOrMore()] = ()
    """Who made the study; one or several."""
    cases: dict[WordsValue, Design] = Field(default_factory=dict)
    """Test cases by name. Cases that have a treatment in common share its runs."""
    topology: Topology
    """Hosts, switches, links."""
    workload: Workload
    """The work of the hosts."""
    procedure: Procedure = Procedure()
    """The phases of a run."""
    instruments: tuple[InstrumentByKey, ...] = ()
    """Instruments that run in addition to the workload's own records."""
    replicates: CountValue = 1
    """Independent runs of each treatment. All runs of a replicate are in one block of the random
    order."""
    seed: SeedValue = 1
    """Root of all random numbers, unless the command line gives another."""
    noise: PercentValue | None = None
    """Smaller differences do not count as differences."""
    compare: Compare | None = None
    """The comparison that the verdict is about."""
    report: Report = Report()
    """Its title, tables and figures."""
    tables: tuple[Table, ...] = ()
    """Short for report.tables."""
    figures: tuple[FigureOrName, ...] = ()
    """Short for report.figures."""
    conclude: tuple[AnyConclusion, ...] = ()
    """Conclusions to draw from the data."""
    require: tuple[RequirementOrText, ...] = ()
    """Conditions that the outcome must satisfy, such as completion_ms_p99 < 500."""
    agreement: dict[AgreedMetric, BandValue] = Field(default_factory=dict)
    """Metric, or a figure's short name -> difference that `netstudy compare` tolerates: in
    percent of the first value, in the metric's unit, or both, of which one must hold
    (20 % or 0.5)."""
    reference: Annotated[tuple[Reference, ...], OneOrMore()] = ()
    """Published measurements to show next to the study's own."""
    quick: Quick = Quick()
    """The short form that `--quick` runs."""
    testbeds: dict[NameValue, Variant] = Field(default_factory=dict)
    """Testbed -> the variant of the study that it runs."""

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
