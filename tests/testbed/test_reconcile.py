"""What a run's instruments counted of the same thing, held against each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.plan import make_plan
from netstudy.study import load
from netstudy.testbed.real.evidence import Evidence, HostEvidence, KernelSwitch
from netstudy.testbed.real.reconcile import reconciliation
from netstudy.testbed.real.wire import IterationsRecord, SnapshotRecord
from netstudy.wire import Reconciliation, Run
from tests.testbed.front import study_text

ITERATIONS, BLOCK_BYTES = 2, 32_000
FRAMES = 100
HEADER_BYTES = 14 + 20 + 32
"""Ethernet, IPv4, TCP with timestamps."""
CARRIED_BYTES = ITERATIONS * BLOCK_BYTES + FRAMES * HEADER_BYTES
WIRE = "bytes of the client's interface = payload and headers of its frames"
NONE = {"frames_dropped": 0, "frames_forwarded": FRAMES, "bytes_forwarded": 0}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """One server, whose block is known."""
    study = tmp_path / "study.yaml"
    study.write_text(study_text("1", iterations=ITERATIONS))
    (only,) = make_plan(load(study)).plan.runs
    assert only.workload.block_bytes == BLOCK_BYTES
    return only


def snapshot(counters: dict[str, int]) -> SnapshotRecord:
    return SnapshotRecord(
        name="edge", at_ns=0, counters=counters, gauges={}, missing={}, cost_ns=0, raw={}
    )


def host(node: str, *records: IterationsRecord, **grown: int) -> HostEvidence:
    return HostEvidence(node, snapshot(dict.fromkeys(grown, 0)), snapshot(grown), records)


def of_wire(run: Run, received_bytes: int, dsacks: int, sent_again: int = 0) -> Reconciliation:
    """The check of the wire's bytes."""
    phase = IterationsRecord(started_ns=(0,) * ITERATIONS, ended_ns=(1,) * ITERATIONS)
    evidence = Evidence(
        client=host(
            "client",
            phase,
            interface_packets_received=FRAMES,
            interface_bytes_received=received_bytes,
            dsacks_received=dsacks,
        ),
        servers=(host("server-1", segments_retransmitted=sent_again),),
        switch=KernelSwitch({"client": dict.fromkeys(NONE, 0)}, {"client": NONE}, burst_bytes=0),
    )
    (found,) = [one for one in reconciliation(run, evidence) if one.check == WIRE]
    return found


def test_the_wire_carries_payload_and_headers_to_the_byte(run: Run) -> None:
    assert of_wire(run, CARRIED_BYTES, dsacks=0).holds
    assert not of_wire(run, CARRIED_BYTES + 12, dsacks=0).holds


def test_a_request_that_came_twice_is_reported_in_an_option_of_twelve_bytes(run: Run) -> None:
    found = of_wire(run, CARRIED_BYTES + 59 * 12, dsacks=59)
    assert (found.difference, found.holds) == (0, True)
    assert not of_wire(run, CARRIED_BYTES + 60 * 12, dsacks=59).holds


def test_a_copy_that_arrived_brings_its_payload_once_more(run: Run) -> None:
    full_bytes = min(link.mtu_bytes for link in run.network.links) - 52
    assert of_wire(run, CARRIED_BYTES + full_bytes, dsacks=0, sent_again=1).holds
    assert not of_wire(run, CARRIED_BYTES + full_bytes + 1, dsacks=0, sent_again=1).holds
