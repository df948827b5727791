"""How far a testbed is that makes one run after the other: it moves within a run."""

from __future__ import annotations

from netstudy import wire
from netstudy.plan import useful_packets
from netstudy.testbed.real.progress import Progress, UnderWay
from netstudy.testbed.real.wire import ProgressRecord
from tests.testbed.carried_out import a_run, counts, roles, times
from tests.testbed.networks import direct, dumbbell, star


def plan() -> wire.Plan:
    """Two runs: of 20 iterations, the second with 5 more before them."""
    work = wire.Incast(roles=roles("client", "server"), block_bytes=100_000)
    runs = tuple(a_run(star(1), work, counts(20, warm_up)) for warm_up in (0, 5))
    return wire.Plan(study="by hand", seed=1, runs=runs)


def test_packets_grow_with_what_is_done_of_a_run() -> None:
    made = plan()
    first, second = map(useful_packets, made.runs)
    progress = Progress(made)

    assert progress.within(0, wire.RunUnderWay(done=0, of=20)).packets == 0
    assert progress.within(0, wire.RunUnderWay(done=10, of=20)).packets == first // 2
    assert progress.between(1).packets == first
    within = progress.within(1, wire.RunUnderWay(done=15, of=25))
    assert within.packets == first + second * 15 // 25
    assert (within.runs_done, within.runs) == (1, 2)
    assert progress.between(2).packets == first + second
    assert progress.between(2).packets_planned == first + second
    assert progress.between(1).under_way is None


def told(run: wire.Run, signs: list[tuple[str, int, int] | None]) -> list[int]:
    """What is done after each sign of life of a client, at a time in milliseconds; None: the next
    phase begins."""
    under_way = UnderWay(run)
    done: list[int] = []
    for sign in signs:
        if sign is None:
            under_way.next_phase()
            continue
        client, at_ms, samples = sign
        on_record = under_way.listener(client, lambda now: done.append(now.done))
        on_record(ProgressRecord(at_ns=at_ms * 1_000_000, samples=samples, bytes=0))
    return done


def test_iterations_count_from_the_start_of_the_warm_up() -> None:
    run = plan().runs[1]

    assert told(run, [("client", 0, 3), None, ("client", 1, 0), ("client", 2, 7)]) == [3, 5, 12]


def test_of_several_flows_and_clients_it_is_what_each_has_done() -> None:
    work = wire.Transfer(
        roles=roles(["client-1", "client-2"], ["server-1", "server-2"]), size_bytes=1, flows=2
    )
    run = a_run(dumbbell(), work, counts(10, 2))

    assert told(run, [None, ("client-1", 0, 8), ("client-2", 0, 12)]) == [2 + 2, 2 + 5]


def test_a_phase_of_a_time_counts_milliseconds() -> None:
    run = a_run(direct(), wire.Request(roles=roles("client", "server")), times(2.0, 1.0))

    signs: list[tuple[str, int, int] | None]
    signs = [("client", 5_000, 1), ("client", 5_400, 9), None, ("client", 7_000, 1)]
    assert told(run, [*signs, ("client", 7_500, 3), ("client", 99_000, 4)]) == [
        *(0, 400),
        *(1_000, 1_500, 3_000),
    ]
