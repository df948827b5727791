"""Late requests and responses: one instant of one host is no limit of a run, many are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netstudy import wire
from netstudy.testbed.real.judge import limits
from netstudy.testbed.real.wire import IterationsRecord, PacingRecord
from netstudy.wire import TestbedLimit
from tests.testbed.carried_out import a_run, counts, roles
from tests.testbed.networks import host, link, network, switch
from tests.testbed.told import evidence

ITERATION_US = 2_000
ALLOWED_US = 100
"""A twentieth."""
ITERATIONS = 20
BEGIN_NS = 1_000_000_000
PHASE = IterationsRecord(
    started_ns=tuple(BEGIN_NS + 1_000 * ITERATION_US * n for n in range(ITERATIONS)),
    ended_ns=tuple(BEGIN_NS + 1_000 * ITERATION_US * (n + 1) for n in range(ITERATIONS)),
)


def pacing(late_us: Sequence[int], begin_ns: int = BEGIN_NS) -> PacingRecord:
    """An instant an iteration."""
    return PacingRecord(
        due_ns=tuple(begin_ns + 1_000 * ITERATION_US * n for n in range(len(late_us))),
        late_ns=tuple(1_000 * us for us in late_us),
    )


def judged(servers: Mapping[str, Sequence[PacingRecord]]) -> TestbedLimit | None:
    """The limit of a run with these servers; the client has nothing that is due at an instant."""
    hosts = [host("client"), *(host(name, "server") for name in servers)]
    graph = network(
        [*hosts, switch("switch", len(hosts))],
        [link(f"{one.name}.eth0", f"switch.{one.name}") for one in hosts],
    )
    work = wire.Incast(roles=roles("client", tuple(servers)), block_bytes=1_000)
    told = evidence(
        a_run(graph, work, counts(ITERATIONS)),
        {"client": (PHASE,), **servers},
        measure=(PHASE.started_ns[0], PHASE.ended_ns[-1]),
    )
    found = [limit for limit in limits(told) if limit.name.startswith("lateness")]
    return found[0] if found else None


def servers(count: int, late_us: Sequence[int]) -> dict[str, list[PacingRecord]]:
    return {f"server-{number + 1}": [pacing(late_us)] for number in range(count)}


def test_one_late_instant_of_one_host_of_many_is_no_limit() -> None:
    hosts = servers(23, [10] * ITERATIONS)
    hosts["server-7"] = [pacing([10] * (ITERATIONS - 1) + [5_000])]
    limit = judged(hosts)

    assert limit is not None
    assert (limit.value, limit.allowed, limit.exceeded) == (10, ALLOWED_US, False)
    assert limit.evidence == (
        "460 instants of 23 hosts; latest was server-7: 20 instants, p99 5,000.0 us, most "
        "5,000.0 us; allowed is a twentieth of 2,000.0 us, the usual duration of a sample"
    )


def test_hosts_that_are_all_late_are_a_limit() -> None:
    limit = judged(servers(23, [150] * ITERATIONS))

    assert limit is not None
    assert (limit.value, limit.exceeded, limit.invalidates) == (150, True, False)


def test_one_host_that_is_always_late_is_a_limit_and_named() -> None:
    limit = judged(servers(22, [10] * ITERATIONS) | {"slow": [pacing([300] * ITERATIONS)]})

    assert limit is not None
    assert (limit.value, limit.exceeded) == (300, True)
    assert "latest was slow: 20 instants, p99 300.0 us" in limit.evidence


def test_at_most_one_instant_in_a_hundred_may_be_later() -> None:
    def late(count: int) -> TestbedLimit | None:
        late_us = iter([500] * count + [10] * (10 * ITERATIONS - count))
        hosts = {str(n): [pacing([next(late_us) for _ in range(ITERATIONS)])] for n in range(10)}
        return judged(hosts)

    two, three = late(2), late(3)  # of 200
    assert two is not None
    assert three is not None
    assert (two.exceeded, three.exceeded) == (False, True)


def test_what_was_late_in_the_warm_up_is_left_out() -> None:
    before = pacing([5_000] * 3, begin_ns=BEGIN_NS - 3_000 * ITERATION_US)
    limit = judged({"server-1": [before, pacing([10] * ITERATIONS)]})

    assert limit is not None
    assert limit.value == 10
    assert limit.evidence.startswith("20 instants of 1 host; ")


def test_where_nothing_is_due_at_an_instant_nothing_is_late() -> None:
    assert judged({"server-1": []}) is None
