"""A study as the rest of the program uses it: complete, checked and immutable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path as FilePath
from typing import TypeVar

from netstudy.documents.fields import Ref
from netstudy.documents.problems import Path
from netstudy.documents.source import Document
from netstudy.study.agreement import Band
from netstudy.study.conclusions.base import Conclusion
from netstudy.study.file import BECAUSE, Design, Hole, Quick, StudyFile, Variant
from netstudy.study.levels import FactorLevel, Growth, level_text
from netstudy.study.measured import WorkloadOfFiles, declared
from netstudy.study.outcome import (
    Compare,
    Expectation,
    Figure,
    Reference,
    Report,
    Requirement,
    Table,
)
from netstudy.study.procedure import Instrument, Procedure, TcpSampler
from netstudy.study.topology import Host, Topology
from netstudy.study.vocabulary import MetricName
from netstudy.study.workloads import Workload
from netstudy.study.workloads.base import MetricWords, WorkloadMetric
from netstudy.study.workloads.probe import PROBE_WORDS, TCP_WORDS
from netstudy.wire import Level

ItemT = TypeVar("ItemT")

MAIN_CASE = "main"
"""Name of the only test case of a study whose file has factors but no cases."""


@dataclass(frozen=True)
class Factor:
    """A factor and its levels."""

    name: str
    levels: tuple[FactorLevel, ...]
    growth: Growth | None = None
    path: Path = ()
    """The factor's place in the file."""

    @property
    def names(self) -> tuple[Level, ...]:
        """The names of the factor's levels, in the order of the study."""
        return tuple(level.name for level in self.levels)

    def level(self, name: Level) -> FactorLevel | None:
        """The level of this name, or None."""
        return self._by_text.get(level_text(name))

    def path_of(self, level: FactorLevel) -> Path:
        """Where the file gives this level."""
        inside = ("grow",) if self.growth else ()
        return (*self.path, *inside, *(() if level.item is None else (level.item,)))

    @cached_property
    def _by_text(self) -> Mapping[str, FactorLevel]:
        return {level_text(level.name): level for level in self.levels}


@dataclass(frozen=True)
class Case:
    """A test case: its factors, fixed levels, and holes."""

    name: str
    description: str | None
    factors: tuple[Factor, ...]
    fixed: Mapping[str, Level]
    """Factor -> the level at which this case holds it, including levels fixed for the whole
    study."""
    zip: tuple[tuple[str, ...], ...] = ()
    holes: tuple[Hole, ...] = ()
    reasons: tuple[str | None, ...] = ()
    """The reason for each hole; None: the study gives no reason."""
    path: Path = ()
    """The case's place in the file; empty if the file has factors but no cases."""

    def factor(self, name: str) -> Factor | None:
        """The factor of this name, or None."""
        return next((factor for factor in self.factors if factor.name == name), None)

    @property
    def growing(self) -> Factor | None:
        """The factor that an outer loop grows, or None."""
        return next((factor for factor in self.factors if factor.growth), None)

    def zipped_with(self, name: str) -> tuple[str, ...]:
        """The factors that vary together with this one, including the factor itself."""
        return next((names for names in self.zip if name in names), (name,))


@dataclass(frozen=True, eq=False)
class Study:
    """A study that was read from a file and passed all checks."""

    path: FilePath
    """The file it was read from."""
    document: Document = field(repr=False)
    file: StudyFile = field(repr=False)
    was_carried_out: bool = False
    """Whether the study comes from a results folder: checks that an earlier version may not have
    made are skipped."""

    @property
    def study(self) -> str:
        """Short name of the study; results go to results/<name>/."""
        return self.file.study

    @property
    def question(self) -> str:
        """The question that the study answers."""
        return self.file.question

    @property
    def expectation(self) -> str | None:
        """The outcome that the author expected before the study was run."""
        return self.file.expectation

    @property
    def authors(self) -> tuple[str, ...]:
        """Who made the study."""
        return self.file.author

    @property
    def expect(self) -> tuple[Expectation, ...]:
        """The expectation as conditions on the outcome."""
        return self.file.expect

    @property
    def description(self) -> str | None:
        """The description of the whole study, if the file has test cases; else None, since the only
        case has it."""
        return self.file.description if self.file.cases else None

    @property
    def is_measured(self) -> bool:
        """True if the runs were measured elsewhere, so that files have their results."""
        return self.file.measured is not None

    @cached_property
    def topology(self) -> Topology:
        """Hosts, links and switches; references stand for the values that a treatment supplies. Of
        runs that were measured elsewhere, only the names of hosts with files are known."""
        if self.file.topology is not None:
            return self.file.topology
        assert self.file.measured is not None, "a study has one of the two"
        return Topology.model_construct(hosts={name: Host() for name in self.file.measured.hosts})

    @cached_property
    def workload(self) -> Workload:
        """The workload; references stand for the values that a treatment supplies."""
        if self.file.workload is not None:
            return self.file.workload
        assert self.file.measured is not None, "a study has one of the two"
        return WorkloadOfFiles.of(self.file.measured)

    @property
    def metrics(self) -> Mapping[str, WorkloadMetric]:
        """Metrics of the workload, the probe and the TCP sampler, and metrics that the study
        declares."""
        known = {name: one for words in self._words for name, one in words.metrics.items()}
        own = {name: declared(one.label or name) for name, one in self.file.metrics.items()}
        return known | own

    @property
    def figures_known(self) -> tuple[str, ...]:
        """The standard figures that show these metrics."""
        return tuple(name for words in self._words for name in words.figures)

    @property
    def _words(self) -> Iterator[MetricWords]:
        yield self.workload.spec.words
        if self.workload.probe is not None:
            yield PROBE_WORDS
        if any(isinstance(one, TcpSampler) for one in self.instruments):
            yield TCP_WORDS

    @cached_property
    def named_metrics(self) -> tuple[MetricName, ...]:
        """Every metric that the parts about results or a growing factor name, without
        repetitions."""
        growths = (factor.growth for case in self.cases for factor in case.factors)
        found: list[MetricName] = [
            *(growth.of for growth in growths if growth is not None and growth.of is not None),
            *(self.compare.on if self.compare else ()),
            *(name for table in self.report.tables for name in table.metrics(self.factors)),
            *(name for figure in self.report.figures for name in figure.metrics),
            *(name for conclusion in self.conclude for name in conclusion.metrics),
            *(one.that.metric for one in self.require),
            *(one.metric for one in self.expect),
            *(name for name in self.agreement if isinstance(name, MetricName)),
        ]
        return tuple(dict.fromkeys(found))

    @property
    def procedure(self) -> Procedure:
        """The phases of a run."""
        return self.file.procedure

    @property
    def instruments(self) -> tuple[Instrument, ...]:
        """Instruments that run in addition to the workload's own records."""
        return self.file.instruments

    @property
    def replicates(self) -> int:
        """Independent runs of each treatment."""
        return self.file.replicates

    @property
    def seed(self) -> int:
        """Seed of all random numbers; the command line may give another one."""
        return self.file.seed

    @property
    def margin_pct(self) -> float | None:
        """The study's own noise: smaller differences do not count as differences."""
        return self.file.noise if self.file.noise is not None else self._noise_of_comparison

    @property
    def compare(self) -> Compare | None:
        """The comparison that the verdict is about. The base is written as in the factor's levels;
        the noise defaults to the study's noise."""
        compare = self.file.compare
        if compare is None:
            return None
        factor = self.factors.get(compare.factor)
        level = factor.level(compare.base) if factor else None
        base = level.name if level else compare.base
        noise = self.file.noise if compare.margin_pct is None else compare.margin_pct
        return compare.model_copy(update={"base": base, "margin_pct": noise})

    @cached_property
    def report(self) -> Report:
        """Tables and figures, including short forms at the top level of the file."""
        report = self.file.report
        return report.model_copy(
            update={
                "tables": report.tables + self.file.tables,
                "figures": report.figures + self.file.figures,
            }
        )

    @property
    def tables(self) -> Iterator[tuple[Path, Table]]:
        """The tables that `report` has, each with its place in the file."""
        yield from _placed(("report", "tables"), self.file.report.tables)
        yield from _placed(("tables",), self.file.tables)

    @property
    def figures(self) -> Iterator[tuple[Path, Figure]]:
        """The figures that `report` has, each with its place in the file."""
        yield from _placed(("report", "figures"), self.file.report.figures)
        yield from _placed(("figures",), self.file.figures)

    @property
    def conclude(self) -> tuple[Conclusion, ...]:
        """Conclusions to draw from the data."""
        return self.file.conclude

    @property
    def require(self) -> tuple[Requirement, ...]:
        """Conditions that the outcome must satisfy."""
        return self.file.require

    @property
    def agreement(self) -> Mapping[MetricName | str, Band]:
        """Metric or standard figure -> tolerated difference between two runs."""
        return self.file.agreement

    @property
    def reference(self) -> tuple[Reference, ...]:
        """Published measurements; `folder / reference.file` is the data."""
        return self.file.reference

    @property
    def quick(self) -> Quick:
        """The short form: `set` has overrides, `only` has levels, written as for `--only`."""
        return self.file.quick

    @property
    def testbeds(self) -> Mapping[str, Variant]:
        """Testbed -> the variant of the study that it runs."""
        return self.file.testbeds

    @property
    def folder(self) -> FilePath:
        """The folder that the study's other files are relative to."""
        return self.path.parent

    @property
    def source_text(self) -> str:
        """The exact text of the file."""
        return self.document.text

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Test cases in order. A study without cases has a single one, called `main`."""
        if not self.file.cases:
            return (self._case(MAIN_CASE, self.file, ()),)
        return tuple(
            self._case(name, design, ("cases", name)) for name, design in self.file.cases.items()
        )

    @cached_property
    def factors(self) -> Mapping[str, Factor]:
        """The factors of all cases by name, each with its levels in all cases, including fixed
        levels."""
        found: dict[str, dict[str, FactorLevel]] = {}
        for case in self.cases:
            for factor in case.factors:
                levels = found.setdefault(factor.name, {})
                for level in factor.levels:
                    name = level_text(level.name)
                    if name not in levels or not levels[name].says_more:
                        levels[name] = level
        for case in self.cases:
            for name, held in case.fixed.items():
                found.setdefault(name, {}).setdefault(level_text(held), FactorLevel(held))
        return {name: Factor(name, tuple(levels.values())) for name, levels in found.items()}

    @property
    def grows(self) -> bool:
        """Whether some runs depend on the results of other runs."""
        return any(case.growing for case in self.cases)

    def levels_of(self, treatment: Mapping[str, Level]) -> dict[str, Level]:
        """Name inside `${…}` -> its value in a treatment. A name is a factor, a field, or
        `factor.field`."""
        values: dict[str, Level] = {}
        for name, chosen in treatment.items():
            level = self.factors[name].level(chosen)
            fields = level.fields if level else {}
            values |= fields | {f"{name}.{key}": value for key, value in fields.items()}
        return values | dict(treatment)

    def levels_at(self, path: Path, value: Level | Ref | None) -> Iterator[tuple[Path, Level]]:
        """The values that a reference has at any level, each with the place that gives the
        value."""
        if not isinstance(value, Ref):
            if value is not None:
                yield path, value
            return
        name, _, key = value.name.partition(".")
        for factor, place, level in self._levels_with_places():
            if factor == name and not key:
                yield place, level.name
            elif (value.name in level.fields and value.name not in self.factors) or (
                factor == name and key in level.fields
            ):
                field = key or value.name
                yield (*place, field), level.fields[field]

    def path_of_fixed(self, case: Case, name: str) -> Path:
        """Place of a fixed level in the file: in the case, or at the top of the study."""
        own = case.path and name in self.file.cases[case.name].fixed
        return (*case.path, "fixed", name) if own else ("fixed", name)

    def _levels_with_places(self) -> Iterator[tuple[str, Path, FactorLevel]]:
        """Every level of every case, varied or fixed: the name of the factor, the level's place,
        and the level."""
        for case in self.cases:
            for factor in case.factors:
                for level in factor.levels:
                    yield factor.name, factor.path_of(level), level
            for name, held in case.fixed.items():
                level = self.factors[name].level(held) or FactorLevel(held)
                yield name, self.path_of_fixed(case, name), level

    @property
    def _noise_of_comparison(self) -> float | None:
        return self.file.compare.margin_pct if self.file.compare else None

    def _case(self, name: str, design: Design, path: Path) -> Case:
        factors = tuple(
            Factor(factor, said.levels, said.growth, (*path, "factors", factor))
            for factor, said in design.factors.items()
        )
        fixed = {
            key: level
            for key, level in (self.file.fixed | design.fixed).items()
            if key not in design.factors
        }
        return Case(
            name=name,
            description=design.description,
            factors=factors,
            fixed=fixed,
            zip=design.zip,
            holes=tuple(_without_reason(hole) for hole in design.holes),
            reasons=tuple(_reason(hole) for hole in design.holes),
            path=path,
        )


def _without_reason(hole: Hole) -> Hole:
    return {name: levels for name, levels in hole.items() if name != BECAUSE}


def _reason(hole: Hole) -> str | None:
    given = hole.get(BECAUSE)
    return None if given is None else " ".join(map(level_text, given))


def _placed(path: Path, items: Iterable[ItemT]) -> Iterator[tuple[Path, ItemT]]:
    return (((*path, index), item) for index, item in enumerate(items))


def factor_names(cases: Iterable[Case]) -> list[str]:
    """Names of the factors of some cases, in order, without repetitions."""
    return list(dict.fromkeys(factor.name for case in cases for factor in case.factors))
