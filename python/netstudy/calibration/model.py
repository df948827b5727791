"""What the simulator says of a study with other figures in a profile."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netstudy import wire
from netstudy.analysis.named import metric_named
from netstudy.analysis.samples import RunSample
from netstudy.analysis.workloads import RELATIVE, further_of, metrics_of
from netstudy.documents.source import read
from netstudy.errors import StudyError, TestbedError
from netstudy.hardware import HardwareLibrary
from netstudy.knobs import Knob, knobs
from netstudy.plan import make_plan
from netstudy.study import Study
from netstudy.testbed.sim import Sim

_BASES = dict.fromkeys(RELATIVE, 1.0)
"""A relative metric is known up to its base here."""
SEED = 1
"""The same random numbers for all figures."""


@dataclass(frozen=True)
class Model:
    """A study whose runs are simulated with figures of one application's profile."""

    study: Study
    profile: str
    names: tuple[str, ...]
    """The figures, as the profile has them."""
    warmup_s: float
    measure_s: float
    threads: int | None = None
    _known: dict[tuple[Any, ...], dict[tuple[str, str], float]] = field(default_factory=dict)

    @property
    def figures(self) -> tuple[Knob, ...]:
        """What is known of each figure. Raises StudyError for one that there is not."""
        known = knobs(wire.Costs)
        for name in self.names:
            if name not in known:
                there = ", ".join(known)
                raise StudyError(f'an application has no figure "{name}"; it has {there}')
        return tuple(known[name] for name in self.names)

    def start(self) -> tuple[float, ...]:
        """The figures that the profile has now, or their default."""
        figures = HardwareLibrary.default(self.study.folder).application(self.profile).figures
        given = [(knob, getattr(figures, knob.name)) for knob in self.figures]
        return tuple(float(knob.default or 0 if own is None else own.value) for knob, own in given)

    def predict(
        self, values: Sequence[float], wanted: Iterable[tuple[str, str]], fixed: Mapping[str, Any]
    ) -> dict[tuple[str, str], float]:
        """Run and metric -> what the simulator says; `fixed` are further figures as files have
        them. Raises TestbedError where a run fails."""
        asked = tuple(dict.fromkeys(wanted))
        key = (tuple(round(value) for value in values), asked, tuple(sorted(fixed.items())))
        if key not in self._known:
            self._known[key] = self._predicted(values, asked, fixed)
        return self._known[key]

    def _predicted(
        self,
        values: Sequence[float],
        asked: Sequence[tuple[str, str]],
        fixed: Mapping[str, Any],
    ) -> dict[tuple[str, str], float]:
        plan = self._plan(values, fixed, {run for run, _ in asked})
        records: dict[str, wire.RunRecord] = {}

        def keep(record: wire.Record, _line: bytes) -> None:
            if isinstance(record, wire.RunRecord):
                records[record.run] = record

        Sim().run(plan, threads=self.threads, on_record=keep)
        metrics = (*metrics_of(plan), *further_of(plan))
        found = {}
        for run in plan.runs:
            record = records[run.id]
            if record.status != "ok":
                raise TestbedError(f"the run {run.treatment} is {record.status}: {record.error}")
            sample = RunSample(run, record, bases=_BASES)
            for _, name in (one for one in asked if one[0] == run.id):
                metric = metric_named(name, metrics)
                value = None if metric is None else metric.reading.of_run(sample)
                if value is None:
                    raise StudyError(f"the simulator gives no {name}; leave it out with --without")
                found[run.id, name] = value
        return found

    def _plan(self, values: Sequence[float], fixed: Mapping[str, Any], runs: set[str]) -> wire.Plan:
        with tempfile.TemporaryDirectory(prefix="netstudy-calibrate-") as folder:
            library = self._library(Path(folder), values, fixed)
            planned = make_plan(self.study, seed=SEED, hardware=library)
        whole = planned.whole_plan
        kept = tuple(self._short(run) for run in whole.runs if run.id in runs)
        return whole.model_copy(update={"runs": kept})

    def _library(
        self, folder: Path, values: Sequence[float], fixed: Mapping[str, Any]
    ) -> HardwareLibrary:
        """The usual one, with these figures in the profile."""
        usual = HardwareLibrary.default(self.study.folder)
        path = usual.file(self.profile)
        assert path is not None, "its start was read"
        data = dict(read(path).data)
        new = {
            knob.name: written(knob, value)
            for knob, value in zip(self.figures, values, strict=True)
        }
        for name, value in (new | dict(fixed)).items():
            said = {"value": value, "source": "assumed", "from": "tried by netstudy calibrate"}
            data["figures"] = {**data["figures"], name: said}
        # JSON is YAML, and needs no quoting of our own.
        (folder / path.name).write_text(json.dumps(data, default=str), encoding="utf-8")
        return HardwareLibrary((folder, *usual.folders))

    def _short(self, run: wire.Run) -> wire.Run:
        """A run as short as calibration can do with: phases that last for a time, no samplers."""
        lasts = {"warm-up": self.warmup_s, "measure": self.measure_s}
        phases = tuple(
            phase.model_copy(update={"until": wire.UntilTime(ns=round(lasts[phase.kind] * 1e9))})
            for phase in run.phases
            if phase.kind in lasts and isinstance(phase.until, wire.UntilTime)
        )
        return run.model_copy(update={"phases": phases or run.phases, "instruments": ()})


def written(knob: Knob, value: float) -> Any:
    """A figure as a profile has it: a whole number of its smallest unit."""
    return knob.scalar.written(round(value))
