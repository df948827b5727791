"""Why the sender of a connection waited, as far as the kernel tells."""

from __future__ import annotations

from netstudy import wire
from netstudy.testbed.real.wire import PhaseRecord
from netstudy.testbed.workloads.base import connection_samples
from tests.testbed.carried_out import a_run, counts, roles
from tests.testbed.networks import star
from tests.testbed.told import evidence

KERNEL = {"busy_us": 700_000, "peer_window_us": 300_000, "own_buffer_us": 20_000}
PHASE = PhaseRecord(
    name="measure", from_ns=0, to_ns=1, quiet_ns=1, bytes_received=(), bytes_sent=(), in_time=None
)


def table(tcp: dict[str, dict[str, int]]) -> wire.ConnectionSamples:
    """A client gets files from a server, in a phase of one second."""
    transfer = wire.Transfer(roles=roles(["client"], ["server"]), size_bytes=1000)
    run = a_run(star(1), transfer, counts(2))
    return connection_samples(evidence(run, {"client": [PHASE]}, tcp=tcp), {})


def test_times_are_those_of_the_end_that_sends() -> None:
    found = table({"server": KERNEL, "client": dict.fromkeys(KERNEL, 1)})
    assert found.idle_ns == (300_000_000,)
    assert found.peer_window_ns == (300_000_000,)
    assert found.own_buffer_ns == (20_000_000,)


def test_what_the_kernel_does_not_tell_is_missing() -> None:
    found = table({"server": KERNEL})
    assert {found.sent_ns, found.congestion_window_ns, found.timer_ns} == {None}
    assert table({}).peer_window_ns == (None,)
    assert table({}).idle_ns == (None,)


def test_no_time_is_longer_than_the_phase() -> None:
    found = table({"server": {**KERNEL, "busy_us": 1_100_000, "peer_window_us": 1_050_000}})
    assert found.idle_ns == (0,)
    assert found.peer_window_ns == (1_000_000_000,)
