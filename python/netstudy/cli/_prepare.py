"""From what was asked on the command line to a plan, its cost, and the record of having asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.plan import PlannedStudy
    from netstudy.store import Invocation
    from netstudy.study import Study

DEFAULT_TESTBED = "sim"


@dataclass(frozen=True)
class Asked:
    """The options of `plan` and `run` that decide what is run; None or empty: not given."""

    study: Path
    seed: int | None = None
    only: Sequence[str] = ()
    overrides: Sequence[str] = ()
    quick: bool = False
    testbed: str | None = None


@dataclass(frozen=True)
class Prepared:
    """A study that is ready to run."""

    study: Study
    planned: PlannedStudy
    invocation: Invocation

    def unsupported(self) -> list[str]:
        """What this version cannot carry out, one sentence each."""
        from netstudy.plan import unsupported

        return unsupported(self.study, self.invocation.testbed)


def prepare(asked: Asked) -> Prepared:
    """Load the study, apply what was asked for, and make the plan. Raises StudyError."""
    from netstudy.plan import make_plan
    from netstudy.store import Invocation
    from netstudy.study import load, parse_only

    as_written = load(asked.study)
    invocation = Invocation(
        study=str(asked.study),
        testbed=asked.testbed or DEFAULT_TESTBED,
        seed=as_written.seed if asked.seed is None else asked.seed,
        only=parse_only(asked.only, as_written),
        overrides=pairs(asked.overrides, "--set"),
        quick=asked.quick,
    )
    study = invocation.applied_to(as_written)
    planned = make_plan(study, seed=invocation.seed, only=invocation.levels_kept(study))
    return Prepared(study, planned, invocation)


def pairs(items: Sequence[str], option: str) -> dict[str, str]:
    """`NAME=VALUE` items as a mapping. Raises StudyError for one without `=`, or a name twice."""
    found: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise StudyError(f"{option} {item}: write it as NAME=VALUE")
        if name.strip() in found:
            raise StudyError(f"{option} {item}: {name.strip()} is given twice")
        found[name.strip()] = value.strip()
    return found
