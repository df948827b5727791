"""Runs on systems that do not report TCP_INFO, such as an emulator of system calls: stored output
of real runs, without these values."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from netstudy import wire
from netstudy.testbed.real.assemble import run_record
from netstudy.testbed.real.conduct import carry_out
from netstudy.testbed.real.setting import Setting
from tests.testbed.golden_runs import CASES, Golden
from tests.testbed.replay import Replay

_OWN_SERIES = ("bytes_received", "bytes_sent")
"""Series of a connection that do not come from the kernel."""


def _without(line: bytes, *names: str) -> bytes | None:
    """A line of an agent without some values of TCP_INFO, or without any of them; None: the agent
    does not write it then."""
    record: dict[str, Any] = json.loads(line)

    def known(values: dict[str, Any]) -> dict[str, Any]:
        return {
            name: value
            for name, value in values.items()
            if name in _OWN_SERIES or (names and name not in names)
        }

    match record.get("kind"):
        case "waits":
            return None
        case "seconds" if not names:
            return None
        case "snapshot":
            for one in record["connections"]:
                one["tcp"] = known(one["tcp"])
        case "readings" | "connection-series":
            record["values"] = known(record["values"])
        case "phase" if not names and record.get("in_time"):
            record["in_time"]["bytes_acknowledged"] = None
        case _:
            return line
    return json.dumps(record).encode() + b"\n"


def _record(name: str, *missing: str) -> tuple[wire.RunRecord, wire.RunRecord]:
    """The record of a stored run, as it was and without these values of TCP_INFO, or any."""
    golden = Golden.stored(name)
    hosts = {node.name for node in golden.run.network.nodes if node.kind == "host"}
    for agent in golden.transcript.keys() & hosts:
        told = (_without(line, *missing) for line in golden.transcript[agent])
        golden.transcript[agent] = [line for line in told if line is not None]
    evidence = asyncio.run(carry_out(Setting(golden.run, Replay.of(golden)), {}))
    return wire.RunRecord.model_validate_json(golden.record), run_record(evidence, {})


def _samples(record: wire.RunRecord) -> dict[str, Any]:
    found: dict[str, Any] = {"connection": record.samples.connection}
    if record.samples.iteration is not None:
        found["iteration"] = record.samples.iteration
    return {
        f"{table}.{name}": value
        for table, rows in found.items()
        for name, value in rows.model_dump().items()
    }


@pytest.mark.parametrize("name", CASES)
def test_a_run_without_tcp_info_lacks_these_values_and_has_all_others(name: str) -> None:
    before, record = _record(name)

    assert record.status == before.status, (record.error, record.checks)
    own, full = _samples(record), _samples(before)
    missing = {name for name, value in own.items() if value != full[name]}
    # Of requests, all bytes count that were sent: how many arrived in time is not known.
    assert {name.split(".")[1] for name in missing} - {"bytes_sent"} == {
        "retransmissions",
        "timeouts",
        "idle_ns",
        "peer_window_ns",
        "own_buffer_ns",
    }
    for name in missing - {"connection.bytes_sent"}:
        assert own[name] is None or set(own[name]) == {None}, name
    assert record.samples.second is None
    laws = [check.law for check in before.checks]
    assert laws == [check.law for check in record.checks]


def test_a_connection_of_others_that_is_closed_in_a_run_takes_its_sums_with_it() -> None:
    golden = Golden.stored("transfer")
    for place, line in enumerate(golden.transcript["server-1"]):
        read: dict[str, Any] = json.loads(line)
        if read.get("kind") == "snapshot" and read["name"] == "measure-start":
            read["counters"]["flow_busy_us"] += 10**12
            golden.transcript["server-1"][place] = json.dumps(read).encode() + b"\n"
    evidence = asyncio.run(carry_out(Setting(golden.run, Replay.of(golden)), {}))

    before, record = wire.RunRecord.model_validate_json(golden.record), run_record(evidence, {})
    assert record.status == before.status, (record.error, record.checks)
    assert before.counters.keys() == record.counters.keys()
    missing = before.counters["server-1"].keys() - record.counters["server-1"].keys()
    assert missing == {"flow_busy_us"}
    assert before.counters["server-2"] == record.counters["server-2"]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "missing",
    [
        pytest.param(("timeouts",), id="6.1"),
        pytest.param(("timeouts", "peer_window_bytes", "tcp_bytes_sent"), id="4.18"),
    ],
)
def test_a_run_on_an_older_kernel_lacks_timeouts_only(name: str, missing: tuple[str, ...]) -> None:
    before, record = _record(name, *missing)

    assert record.status == before.status, (record.error, record.checks)
    own, full = _samples(record), _samples(before)
    assert {name.split(".")[1] for name in own if own[name] != full[name]} == {"timeouts"}
    assert {own[name] for name in own if name.endswith(".timeouts")} == {None}
