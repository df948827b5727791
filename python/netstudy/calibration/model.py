"""Simulates a study with changed figures in its profiles."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from statistics import mean
from typing import Any

from netstudy import wire
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.reasons import reasons
from netstudy.analysis.samples import RunSample
from netstudy.analysis.workloads import RELATIVE, further_of, metrics_of
from netstudy.calibration.figures import Figure, library_with
from netstudy.calibration.targets import treatment_text
from netstudy.errors import StudyError, TestbedError
from netstudy.hardware import HardwareLibrary
from netstudy.plan import PlannedStudy, make_plan
from netstudy.plan_lines import RUN
from netstudy.study import Study, apply_overrides
from netstudy.study.vocabulary import MetricName
from netstudy.testbed.sim import Sim
from netstudy.wire import Level

_BASES = dict.fromkeys(RELATIVE, 1.0)
"""Relative metrics are first computed with a base of 1; the real base is fitted later."""
_MOST_SEED = 2**63 - 1

Shown = tuple[str, MetricName]
"""Run and metric."""


@dataclass(frozen=True)
class Length:
    """How long each run of a calibration is, and how many runs a cell has."""

    warmup_s: float = 2.0
    measure_s: float = 20.0
    replicates: int = 1
    """Number of runs of each cell; their values are averaged."""


@dataclass(frozen=True)
class Trial:
    """A candidate: values for figures of profiles and for keys of the study."""

    figures: Mapping[Figure, float]
    keys: Mapping[str, Any] = field(default_factory=dict)
    """Path of a key in the study -> its value."""


@dataclass(frozen=True)
class Model:
    """A study whose runs are simulated with candidate figures."""

    study: Study
    library: HardwareLibrary
    """The unchanged profiles."""
    length: Length
    scale: Fraction = Fraction(1)
    threads: int | None = None
    only: Mapping[str, Sequence[Level]] = field(default_factory=dict)
    """Factor -> the levels to plan; empty: all runs of the study."""
    _known: dict[bytes, dict[MetricName, float]] = field(default_factory=dict, repr=False)
    """Run, as JSON -> metric -> value, so that equal runs are simulated only once: most figures
    change only a few runs. Whole records are not kept, because a search produces thousands."""

    @property
    def seed(self) -> int:
        """The root of the random numbers for all candidates: the study's seed."""
        return self.study.seed

    @property
    def fresh_seed(self) -> int:
        """A different root, for the final values of the fitted model."""
        return self.seed % _MOST_SEED + 1

    def planned(self) -> PlannedStudy:
        """The plan with unchanged figures."""
        study = self.study_with({})
        return self._planned(study, self.seed, self.library)

    def plan_with(self, trial: Trial, seed: int) -> wire.Plan:
        """The plan with the candidate's figures and keys."""
        with tempfile.TemporaryDirectory(prefix="netstudy-calibrate-") as folder:
            library = library_with(self.library, Path(folder), trial.figures)
            study = self.study_with(trial.keys)
            return self._planned(study, seed, library).whole_plan

    def _planned(self, study: Study, seed: int, library: HardwareLibrary) -> PlannedStudy:
        return make_plan(study, seed=seed, only=self.only, hardware=library, scale=self.scale)

    def predict(self, trial: Trial, wanted: Iterable[Shown], seed: int) -> dict[Shown, float]:
        """The simulated value of each wanted run and metric, as a mean over the replicates. Raises
        TestbedError if a run fails."""
        found = self.replicates(self.plan_with(trial, seed), wanted)
        return {one: mean(values) for one, values in found.items()}

    def replicates(self, plan: wire.Plan, wanted: Iterable[Shown]) -> dict[Shown, list[float]]:
        """The simulated values of each wanted run and metric of a plan, one value for each
        replicate. Runs are identified by their first replicate. Raises TestbedError if a run
        fails."""
        asked = tuple(dict.fromkeys(wanted))
        by_treatment: dict[str, list[wire.Run]] = {}
        for run in plan.runs:
            by_treatment.setdefault(str(run.treatment), []).append(self._short(run))
        firsts = {runs[0].id: runs for runs in map(_by_replicate, by_treatment.values())}
        names: dict[str, list[MetricName]] = {}
        for first, name in asked:
            for one in firsts[first]:
                names.setdefault(one.id, []).append(name)
        shown = (firsts[first] for first in dict.fromkeys(first for first, _ in asked))
        found = self._values(plan.with_runs(chain(*shown)), names)
        return {
            (first, name): [found[one.id][name] for one in firsts[first]] for first, name in asked
        }

    def _values(
        self, plan: wire.Plan, names: Mapping[str, Sequence[MetricName]]
    ) -> dict[str, dict[MetricName, float]]:
        """The values of the metrics in `names` for each run; runs whose values are known are not
        simulated again."""
        keys = {run.id: RUN.dump_json(run) for run in plan.runs}
        new = tuple(
            run
            for run in plan.runs
            if not self._known.get(keys[run.id], {}).keys() >= set(names[run.id])
        )
        asked = plan.with_runs(new)
        records = simulated(asked, self.threads) if new else {}
        metrics = (*metrics_of(plan), *further_of(plan))
        for run in new:
            sample = RunSample(run, records[run.id], bases=_BASES)
            own = self._known.setdefault(keys[run.id], {})
            own |= {name: _value(sample, name, metrics) for name in names[run.id]}
        return {run: self._known[key] for run, key in keys.items()}

    def study_with(self, keys: Mapping[str, Any]) -> Study:
        """The study with these values for its keys, and with the calibration's number of
        replicates."""
        changes = {"replicates": str(self.length.replicates)}
        changes |= {path: str(value) for path, value in keys.items()}
        return apply_overrides(self.study, changes, hardware=self.library)

    def _short(self, run: wire.Run) -> wire.Run:
        """The run with its timed phases shortened to the calibration's lengths. A warm-up of length
        0 is removed, as in a plan."""
        lasts = {"warm-up": self.length.warmup_s, "measure": self.length.measure_s}
        phases = tuple(
            phase.model_copy(update={"until": wire.UntilTime(ns=round(lasts[phase.kind] * 1e9))})
            for phase in run.phases
            if lasts.get(phase.kind) and isinstance(phase.until, wire.UntilTime)
        )
        return replace(run, phases=phases or run.phases)


def simulated(plan: wire.Plan, threads: int | None = None) -> dict[str, wire.RunRecord]:
    """The records of a plan's runs, by run id. Raises TestbedError if a run fails."""
    found: dict[str, wire.RunRecord] = {}

    def keep(record: wire.Record, _line: bytes) -> None:
        if isinstance(record, wire.RunRecord):
            found[record.run] = record

    Sim().run(plan, threads=threads, on_record=keep)
    for record in found.values():
        if record.status != "ok":
            where = f"the simulated run at {treatment_text(record.treatment)}"
            raise TestbedError(f"{where} is {record.status}: {reasons(record)}")
    return found


def _by_replicate(runs: Iterable[wire.Run]) -> list[wire.Run]:
    return sorted(runs, key=lambda run: run.replicate)


def _value(sample: RunSample, name: MetricName, metrics: Sequence[Metric]) -> float:
    metric = metric_named(name, metrics)
    value = None if metric is None else metric.reading.of_run(sample)
    if value is None:
        raise StudyError(f"the simulator gives no {name}; leave it out with --without")
    return value
