"""Why the sender of a connection waited, as far as the kernel tells."""

from __future__ import annotations

from netstudy import wire
from netstudy.testbed.real.reconcile import _Counted, _flows, _timeouts
from netstudy.testbed.real.wire import InTime, PhaseRecord
from netstudy.testbed.workloads.base import connection_samples
from tests.testbed.carried_out import a_run, counts, roles
from tests.testbed.networks import star
from tests.testbed.told import evidence

KERNEL = {"busy_us": 700_000, "peer_window_us": 300_000, "own_buffer_us": 20_000}
PHASE = PhaseRecord(
    name="measure", from_ns=0, to_ns=1, quiet_ns=1, bytes_received=(), bytes_sent=(), in_time=None
)


RUN = a_run(star(1), wire.Transfer(roles=roles(["client"], ["server"]), size_bytes=1000), counts(2))


def table(tcp: dict[str, dict[str, int]], *unreported: str) -> wire.ConnectionSamples:
    """A client gets files from a server, in a phase of one second."""
    told = evidence(RUN, {"client": [PHASE]}, tcp=tcp, unreported=unreported)
    return connection_samples(told, {})


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


def test_timeouts_that_the_kernel_does_not_count_are_missing() -> None:
    """Linux before 6.7."""
    tcp = {"server": {"timeouts": 3, "retransmissions": 4}}
    assert table(tcp).timeouts == (3,)
    older = table(tcp, "timeouts")
    assert older.timeouts is None
    assert older.retransmissions == (4,)


def test_counters_that_the_kernel_lacks_are_not_compared_with_those_of_its_host() -> None:
    def compared(*unreported: str) -> set[str]:
        told = evidence(
            RUN,
            {"client": [PHASE]},
            {"server": {"timeouts": 3, "segments_retransmitted": 4}},
            tcp={"server": {"timeouts": 3, "retransmissions": 4}},
            unreported=unreported,
        )
        found = [*_flows(_Counted(told)), *_timeouts(_Counted(told))]
        return {one.check.split()[0] for one in found}

    assert compared() == {"segments", "timeouts"}
    assert compared("timeouts") == {"segments"}


def test_in_a_phase_with_a_time_acknowledged_bytes_count_if_they_are_known() -> None:
    def carried(acknowledged: tuple[int, ...] | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
        in_time = InTime(bytes_received=(900,), bytes_acknowledged=acknowledged)
        phase = PHASE.model_copy(update={"in_time": in_time})
        found = connection_samples(
            evidence(RUN, {"client": [phase]}, delivered={"client": 1000, "server": 64}), {}
        )
        return found.bytes_received, found.bytes_sent

    assert carried((50,)) == ((900,), (50,))
    assert carried(None) == ((900,), (64,))


def test_no_time_is_longer_than_the_phase() -> None:
    found = table({"server": {**KERNEL, "busy_us": 1_100_000, "peer_window_us": 1_050_000}})
    assert found.idle_ns == (0,)
    assert found.peer_window_ns == (1_000_000_000,)
