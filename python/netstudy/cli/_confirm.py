"""Executes the runs of `netstudy diagnose --confirm`, each in a results folder of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netstudy.cli._limits import check_cost, most
from netstudy.cli._prepare import Prepared
from netstudy.cli._programs import say_programs
from netstudy.cli._terminal import phases
from netstudy.cli.report import finish
from netstudy.cli.run import (
    Manner,
    interruptible,
    new_folder,
    preflight,
    programs_of,
    refuse_unsupported,
    run_missing,
)
from netstudy.errors import TestbedError

if TYPE_CHECKING:
    from netstudy.analysis.confirmation import Confirmation, Experiment
    from netstudy.analysis.predictions import Measured, Verdict
    from netstudy.store import Folder

_ENDING = "-confirm"
"""Added to the study's name, so that the study's own results stay its newest ones."""
_NAME_MAX = 100 - len(_ENDING)


@dataclass(frozen=True, eq=False)
class Outcome:
    """An experiment with its result."""

    experiment: Experiment
    folder: Path
    measured: Measured

    @property
    def verdict(self) -> Verdict:
        """Whether the prediction agrees with the measurement."""
        return self.experiment.predicted.verdict(self.measured)

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        interval = self.measured.interval
        return {
            **self.experiment.as_data(),
            "folder": str(self.folder),
            "ratio": self.measured.ratio,
            "interval": None if interval is None else [interval.low, interval.high],
            "verdict": self.verdict,
        }


def carry_out(folder: Folder, found: Confirmation, manner: Manner, max_time: str) -> list[Outcome]:
    """Runs each experiment on the testbed of a results folder, and compares it with the cell of
    this folder. Raises StudyError if a run is refused, and TestbedError if it has no result."""
    return [_carry_out(folder, found, one, manner, max_time) for one in found.experiments]


def _carry_out(
    folder: Folder, found: Confirmation, one: Experiment, manner: Manner, max_time: str
) -> Outcome:
    from netstudy.analysis.predictions import measured
    from netstudy.analysis.study_result import pool
    from netstudy.execute import is_final
    from netstudy.testbed import invoked

    prepared = _prepared(folder, found, one)
    testbed = invoked(prepared.invocation)
    refuse_unsupported(prepared.unsupported())
    check_cost(most(prepared.planned, testbed, manner.threads), max_time, manner.results)
    say_programs(programs_of(prepared), prepared.invocation.testbed)
    machine = preflight(testbed, prepared.planned.plan_of_one_each, prepared.invocation, manner)
    testbed.check()
    made = new_folder(prepared, manner.results)
    with interruptible(), made.writing():
        run_missing(made, testbed, manner, machine)
        with phases(is_quiet=manner.is_quiet) as on_phase:
            finish(made, on_phase, is_final=is_final(made, testbed))
    (row,) = pool(made).cells.rows
    result = measured(found.setting.limits, found.level.row, row)
    if result is None:
        raise TestbedError(f"{made.path} has no valid run, so nothing is confirmed")
    return Outcome(one, made.path, result)


def _prepared(folder: Folder, found: Confirmation, one: Experiment) -> Prepared:
    """The plan of the cell with the raised bounds; its random numbers are the same."""
    from netstudy.hardware import HardwareLibrary
    from netstudy.plan import make_plan
    from netstudy.store import Invocation
    from netstudy.study.loader import load_text
    from netstudy.study.one_cell import one_cell
    from netstudy.units import parse_scale

    before, study = folder.invocation(), folder.study()
    name = f"{study.study[:_NAME_MAX]}{_ENDING}"
    text = one_cell(study, found.level.row.treatment, one.raised.values, name)
    changed = load_text(text, study.folder / "study.yaml")
    invocation = Invocation(
        study=str(folder.path),
        testbed=before.testbed,
        inventory=before.inventory,
        seed=before.seed,
        scale=before.scale,
    )
    planned = make_plan(
        changed,
        seed=before.seed,
        scale=parse_scale(before.scale or 1),
        traces=invocation.traces,
        hardware=HardwareLibrary.default(study.folder),
    )
    return Prepared(changed, changed, planned, invocation)
