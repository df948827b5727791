"""Runs on real namespaces, from a plan made by hand to their records."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from netstudy import wire
from netstudy.plan_lines import plan_bytes
from netstudy.testbed.engine import find_engine
from tests.testbed.conftest import CHECKOUT, User, environment

TIME_LIMIT_S = 120


def roles(client: str | Sequence[str], server: str | Sequence[str]) -> wire.Roles:
    """One or several of each."""
    one = (client,) if isinstance(client, str) else tuple(client)
    other = (server,) if isinstance(server, str) else tuple(server)
    return wire.Roles(client=one, server=other)


def counts(measure: int, warm_up: int = 1) -> tuple[wire.Phase, ...]:
    """Phases that count."""
    return (
        wire.Phase(kind="warm-up", until=wire.UntilCount(count=warm_up)),
        wire.Phase(kind="measure", until=wire.UntilCount(count=measure)),
    )


def times(measure_s: float, warm_up_s: float = 0.2) -> tuple[wire.Phase, ...]:
    """Phases that last for a time."""
    return (
        wire.Phase(kind="warm-up", until=wire.UntilTime(ns=round(1e9 * warm_up_s))),
        wire.Phase(kind="measure", until=wire.UntilTime(ns=round(1e9 * measure_s))),
    )


def a_run(
    network: wire.Network,
    workload: wire.Workload,
    phases: tuple[wire.Phase, ...],
    **more: Any,
) -> wire.Run:
    """A run of its own."""
    return wire.Run(
        id="5d41402abc4b",
        cases=(),
        treatment={},
        replicate=1,
        seed="0123456789abcdef",
        network=network,
        workload=workload,
        phases=phases,
        **more,
    )


def record_of(user: User, run: wire.Run, switching: str = "user-space") -> wire.RunRecord:
    """What becomes of a run in a sandbox of a user's; it must come to its end."""
    records = records_of(user, run, switching)
    (found,) = [one for one in records if one["kind"] == "run"]
    record = wire.RunRecord.model_validate(found)
    assert record.status != "failed", record.error
    return record


def simulated(run: wire.Run) -> wire.RunRecord:
    """The record of the same run in the simulator."""
    done = subprocess.run(
        [find_engine(), "sim"],
        input=plan_bytes(wire.Plan("by hand", 1, (run,))).decode(),
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    (found,) = [one for one in records if one["kind"] == "run"]
    record = wire.RunRecord.model_validate(found)
    assert record.status == "ok", record.error
    return record


def records_of(user: User, run: wire.Run, switching: str = "user-space") -> list[dict[str, Any]]:
    """All records of a plan with that run alone."""
    done = carry_out(user, run, f"--switching={switching}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def carry_out(user: User, run: wire.Run, *options: str) -> subprocess.CompletedProcess[str]:
    """The testbed's process after a plan with that run alone, which it has carried out."""
    done = subprocess.run(
        user.in_sandbox(user.python, "-m", "netstudy.testbed.netns", *options),
        input=plan_bytes(wire.Plan("by hand", 1, (run,))).decode(),
        env=environment(),
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    return done


def broken(record: wire.RunRecord) -> list[wire.Check]:
    """The laws that a run breaks, but for those that a busy machine breaks."""
    of_the_machine = ("the switch keeps", "no frame vanishes")
    return [
        one for one in record.checks if not one.holds and not one.law.startswith(of_the_machine)
    ]
