"""Golden runs: what the processes of a real run in namespaces wrote, and the record made from it.

`python -m tests.testbed.golden_runs` makes all of them anew in a sandbox of its own (for root).
"""

from __future__ import annotations

import asyncio
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netstudy import wire
from netstudy.plan_lines import RUN
from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.kernel import kernel
from netstudy.testbed.netns.layout import make_layout
from netstudy.testbed.netns.place import NamespacePlace
from netstudy.testbed.netns.resources import Resources, cpu_pinning
from netstudy.testbed.netns.sandbox import enter, sandbox_command
from netstudy.testbed.real.assemble import run_record
from netstudy.testbed.real.conduct import carry_out
from netstudy.testbed.real.evidence import Evidence
from netstudy.testbed.real.polling import polled_switches
from netstudy.testbed.real.processes import Transcript
from netstudy.testbed.real.setting import Setting
from tests.testbed.carried_out import a_run, counts, roles, times
from tests.testbed.networks import dumbbell, star, zones

FOLDER = Path(__file__).parent / "goldens"
_INSIDE = "--inside"


def _instruments(host: str, *others: str) -> dict[str, Any]:
    sampled = [wire.Instrument(kind="host", node=host, every_ns=100_000_000)]
    sampled += [wire.Instrument(kind="tcp", node=one, every_ns=100_000_000) for one in others]
    return {"instruments": tuple(sampled)}


def _incast() -> wire.Run:
    ports = wire.Instrument(kind="ports", node="switch", every_ns=50_000_000)
    polls = wire.Instrument.model_validate(
        {
            "kind": "snmp",
            "node": "switch",
            "port": "client",
            "from": "client",
            "every_ns": 100_000_000,
        }
    )
    sampled = _instruments("client", "server-1")["instruments"]
    return a_run(
        star(3, rate_bps=200_000_000, mtu_bytes=1500),
        wire.Incast(
            roles=roles("client", ("server-1", "server-2", "server-3")), block_bytes=90_000
        ),
        counts(8, warm_up=2),
        instruments=(*sampled, ports, polls),
    )


def _transfer() -> wire.Run:
    pairs = roles(("client-1", "client-2"), ("server-1", "server-2"))
    work = wire.Transfer(roles=pairs, size_bytes=200_000)
    return a_run(dumbbell(), work, times(0.6), **_instruments("client-1", "server-1"))


def _request() -> wire.Run:
    work = wire.Request(
        roles=roles("client", ("server.a", "server.b")),
        connections=2,
        request_bytes=200,
        response_bytes=4_000,
    )
    return a_run(zones(), work, times(0.4), **_instruments("server", "client"))


def _probe() -> wire.Run:
    work = wire.Transfer(roles=roles(("client-1", "client-2"), ("server-1", "server-2")))
    idle = wire.Phase(kind="idle", until=wire.UntilTime(ns=200_000_000))
    pause = wire.Phase(kind="cool-down", until=wire.UntilTime(ns=100_000_000))
    return a_run(
        dumbbell(middle_bps=20_000_000),
        work,
        (idle, *times(0.5), pause),
        probe=wire.Probe(every_ns=10_000_000),
    )


CASES = {"incast": _incast, "transfer": _transfer, "request": _request, "probe": _probe}


@dataclass(frozen=True)
class Golden:
    """A run in namespaces, as it is stored."""

    run: wire.Run
    tick_ns: int
    burst_bytes: int
    cpus: Mapping[str, float]
    transcript: Transcript
    record: str
    """The record, as JSON."""

    @classmethod
    def stored(cls, name: str) -> Golden:
        """Read one of CASES."""
        found = json.loads(lzma.decompress((FOLDER / f"{name}.json.xz").read_bytes()))
        lines = {
            node: [line.encode() for line in each] for node, each in found["transcript"].items()
        }
        return cls(
            run=RUN.validate_python(found["run"]),
            tick_ns=found["tick_ns"],
            burst_bytes=found["burst_bytes"],
            cpus=found["cpus"],
            transcript=lines,
            record=found["record"],
        )


def store(name: str, evidence: Evidence, transcript: Transcript) -> None:
    """Write a run, and the record made from its evidence."""
    found = {
        "run": RUN.dump_python(evidence.run, mode="json"),
        "tick_ns": evidence.tick_ns,
        "burst_bytes": evidence.burst_bytes,
        "cpus": dict(evidence.cpus),
        "transcript": {node: [one.decode() for one in each] for node, each in transcript.items()},
        "record": wire.to_json(run_record(evidence, {})),
    }
    text = json.dumps(found, separators=(",", ":")).encode()
    (FOLDER / f"{name}.json.xz").write_bytes(lzma.compress(text, preset=9))


def carried_out(run: wire.Run, transcript: Transcript) -> Evidence:
    """Carry a run out in this sandbox; its output goes into `transcript`."""
    pinning = cpu_pinning(os.sched_getaffinity(0))
    layout = make_layout(
        run.network, kernel(), receive_cpu=pinning.hosts, polled=polled_switches(run)
    )
    place = NamespacePlace(Resources(run, layout, find_engine(), pinning), kernel())
    return asyncio.run(carry_out(Setting(run, place), transcript))


def main() -> None:
    """Carry out every case, or start this module in a sandbox that does."""
    if _INSIDE not in sys.argv:
        command = [sys.executable, "-m", "tests.testbed.golden_runs", _INSIDE]
        subprocess.run(sandbox_command(command), check=True)
        return
    enter()
    for name, case in CASES.items():
        transcript: Transcript = {}
        store(name, carried_out(case(), transcript), transcript)


if __name__ == "__main__":
    main()
