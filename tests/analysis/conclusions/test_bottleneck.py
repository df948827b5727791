"""Whose limit it is, by records with a planted answer: shares are worked by hand beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from netstudy.analysis.bounds.candidates import Candidate, LimitKind, Resource
from netstudy.analysis.bounds.ties import limits_by_time
from netstudy.analysis.bounds.verdict import Level
from netstudy.analysis.conclusions.bottleneck import Bottlenecks, Limits
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.errors import StudyError
from netstudy.study import load as load_study
from netstudy.wire import Readings, Run, RunRecord, TestbedLimit
from tests.report import loaded
from tests.report.accounts import Spot
from tests.report.loaded import STUDY, Load, Loads, concluding, record, told
from tests.report.results import from_text

NULL = "{bottleneck: true, at: {sink: 'null'}}"
FULL = 980.0
"""Of 1,000 Mbit/s: 99.3 % with preambles and gaps, 980 × 1538 ÷ 1518."""
LINK = "link from server to switch"
SECONDS_NS = 10**9


def clients_of(run: Run) -> int:
    return len(run.workload.roles.client)


def up_to_four(most: float, **more: object) -> Loads:
    """Grows with the clients up to four, and then no more."""

    def loads(run: Run) -> Load:
        rate = most * min(clients_of(run), 4) / 4
        return Load(rate, **more)  # type: ignore[arg-type]

    return loads


def limits(result: StudyResult) -> Limits:
    drawn = next(one.drawn for one in result.concluded if isinstance(one.drawn, Bottlenecks))
    (found,) = drawn.limits
    return found


def at_most(result: StudyResult) -> Level:
    """The verdict at the highest load."""
    return limits(result).levels[-1]


def named(level: Level) -> list[str]:
    return [one.name for one in level.limits]


def candidate(level: Level, name: str) -> Candidate:
    return next(one for one in level.candidates if one.name == name)


def test_the_one_that_is_full_is_the_limit_and_the_others_are_ruled_out(tmp_path: Path) -> None:
    result = concluding(tmp_path, f"[{NULL}]", up_to_four(FULL))
    level = at_most(result)
    assert named(level) == [LINK]
    shares = {one.name: one.share_pct for one in level.candidates}
    assert shares[LINK] == pytest.approx(980 * 1538 / 1518 / 10, rel=1e-4)
    assert shares["CPUs of server"] == pytest.approx(30)
    assert shares["CPUs of client"] == pytest.approx(20)
    of_five = 980 / 5 * 1538 / 1518 / 10
    assert shares["link from switch to client"] == pytest.approx(of_five, rel=1e-4)
    assert shares["link from switch to server"] == 0
    others = {one.state for one in level.candidates if one.name != LINK and one.share_pct}
    assert others == {"not reached"}


def test_a_bound_is_throughput_by_the_used_share(tmp_path: Path) -> None:
    """The utilisation law, for a CPU that is busy for 30 %."""
    level = at_most(concluding(tmp_path, f"[{NULL}]", up_to_four(FULL)))
    found = candidate(level, "CPUs of server")
    assert found.bound == pytest.approx(level.seen.throughput / 0.3)


def test_while_throughput_is_in_proportion_nothing_limits(tmp_path: Path) -> None:
    """Three of four clients: 73.5 % of the link in use, which four would fill to 98 %."""
    spans = limits(concluding(tmp_path, f"[{NULL}]", up_to_four(FULL))).spans
    assert [[each.row.treatment["clients"] for each in one.levels] for one in spans] == [
        [1, 2],
        [4, 5],
    ]
    assert [one.first.cause for one in spans] == ["served", "bound"]
    nearest = spans[0].levels[-1].next
    assert nearest is not None
    assert nearest.name == LINK


def test_each_setting_has_a_limit_of_its_own(tmp_path: Path) -> None:
    def loads(run: Run) -> Load:
        is_disk = run.treatment["sink"] == "disk"
        rate = (500.0 if is_disk else FULL) * min(clients_of(run), 4) / 4
        return Load(rate, server_cpu=0.95 * min(clients_of(run), 4) / 4 if is_disk else 0.3)

    result = concluding(tmp_path, "[bottleneck]", loads)
    (each,) = result.concluded
    assert isinstance(each.drawn, Bottlenecks)
    found = {one.held["sink"]: named(one.levels[-1]) for one in each.drawn.limits}
    assert found == {"null": [LINK], "disk": ["CPUs of server"]}


def test_hosts_that_only_watch_are_no_candidates(tmp_path: Path) -> None:
    level = at_most(concluding(tmp_path, f"[{NULL}]", up_to_four(FULL)))
    assert not any("monitor" in one.name for one in level.candidates)


def test_bounds_within_the_noise_limit_together(tmp_path: Path) -> None:
    """99.3 % of the link and 98.5 % of the CPUs, with a noise of 2 %."""

    def loads(run: Run) -> Load:
        share = min(clients_of(run), 4) / 4
        return Load(FULL * share, server_cpu=0.985 * share)

    assert named(at_most(concluding(tmp_path, f"[{NULL}]", loads))) == [LINK, "CPUs of server"]


def test_of_two_full_resources_the_one_with_the_lower_bound_is_the_limit(tmp_path: Path) -> None:
    """99.3 % of the link and 93 % of the CPUs, which would carry 7.5 % more."""

    def loads(run: Run) -> Load:
        share = min(clients_of(run), 4) / 4
        return Load(FULL * share, server_cpu=0.93 * share)

    level = at_most(concluding(tmp_path, f"[{NULL}]", loads))
    assert named(level) == [LINK]
    assert candidate(level, "CPUs of server").state == "reached"


def test_a_cpu_that_is_as_busy_at_one_client_is_no_limit(tmp_path: Path) -> None:
    """Busy waiting: 97 % at each load."""
    level = at_most(concluding(tmp_path, f"[{NULL}]", up_to_four(500.0, server_cpu=0.97)))
    assert candidate(level, "CPUs of server").state == "full, but not in proportion"
    assert level.cause == "open"


def test_a_cpu_whose_demand_falls_is_no_limit(tmp_path: Path) -> None:
    """60 % for one client, and 95 % for four: most of it is not the work's."""

    def loads(run: Run) -> Load:
        clients = min(clients_of(run), 4)
        return Load(500.0 * clients / 4, server_cpu={1: 0.6, 2: 0.8, 4: 0.95}[clients])

    level = at_most(concluding(tmp_path, f"[{NULL}]", loads))
    assert level.limits == ()


def test_a_link_that_is_full_stays_the_limit_where_waste_grows(tmp_path: Path) -> None:
    """At five clients, a fifth of what the full link carries is sent for nothing."""

    def loads(run: Run) -> Load:
        n = clients_of(run)
        return Load(FULL * min(n, 4) / 4, wasted=0.2 if n > 4 else 0.0)

    level = at_most(concluding(tmp_path, f"[{NULL}]", loads))
    assert named(level) == [LINK]


def test_where_none_is_full_the_limit_is_not_decided(tmp_path: Path) -> None:
    result = concluding(tmp_path, f"[{NULL}]", up_to_four(500.0))
    assert at_most(result).cause == "open"
    assert told(result)[0].startswith("The bottleneck is not decided at 5 clients")


def test_of_several_hosts_the_fullest_counts(tmp_path: Path) -> None:
    """Three clients idle, and one is busy: their mean is 31 %."""

    def loads(run: Run) -> Load:
        names = run.workload.roles.client
        busy = dict.fromkeys(names, 0.1) | {names[-1]: 0.95}
        return Load(500.0, client_cpu=busy)

    level = at_most(concluding(tmp_path, f"[{NULL}]", loads, clients="[4]"))
    found = candidate(level, "CPUs of client")
    assert found.where == "client-4"
    assert found.share_pct == pytest.approx(95)
    assert named(level) == ["CPUs of client"]


def test_a_link_that_comes_with_each_client_bounds_one_client(tmp_path: Path) -> None:
    """Each of four servers' worth of clients fills its own link, which grows with the load."""
    loads = up_to_four(4 * FULL)
    level = at_most(concluding(tmp_path, f"[{NULL}]", loads, clients="[1, 2]"))
    assert candidate(level, "link from switch to client").state == "bounds one client"


@pytest.mark.parametrize(
    ("mean", "most", "state"), [(0.3, 100.0, "may be reached"), (0.2, None, "not reached")]
)
def test_one_of_four_cpus_may_be_full_where_they_are_counted_together(
    mean: float, most: float | None, state: str, tmp_path: Path
) -> None:
    """30 % of four CPUs is 1.2 of one; 20 % is 0.8, too little to fill any."""
    loads = up_to_four(500.0, server_cpu=mean, client_cpu=0.05, cpus=4.0)
    result = concluding(tmp_path, f"[{NULL}]", loads)
    found = candidate(at_most(result), "CPUs of server")
    assert found.share_pct == pytest.approx(100 * mean)
    assert (found.at_most_pct, str(found.state)) == (most, state)
    if state == "may be reached":
        assert "Counters of each CPU would decide." in told(result)


def on_hosts(others_pct: float) -> Callable[[Run], RunRecord]:
    """Runs on hosts of two CPUs, of which one is full; other programs took this share of the time
    of both."""
    counters: Readings = {"cpu_busy_ns.0": (0, 2 * SECONDS_NS), "cpu_busy_ns.1": (0, SECONDS_NS)}
    load = Load(500.0, server_cpu=0.6, cpus=2.0, more={"server": counters})
    others = TestbedLimit(
        name="CPU time of others (server)",
        value=others_pct,
        allowed=100.0,
        unit="%",
        exceeded=False,
        invalidates=False,
        evidence="",
    )

    def made(run: Run) -> RunRecord:
        found = record(run, load)
        nodes = {
            name: node.model_copy(update={"clock": name}) for name, node in found.nodes.items()
        }
        return found.model_copy(update={"limits": (others,), "nodes": nodes})

    return made


@pytest.mark.parametrize(
    ("others_pct", "state"), [(0.0, "limit"), (0.5, "limit"), (30.0, "may be reached")]
)
def test_a_cpu_that_works_for_others_too_may_be_the_limit(
    others_pct: float, state: str, tmp_path: Path
) -> None:
    """30 % of two CPUs is 60 % of one: without it, the CPU would be 40 % busy."""
    text = STUDY.replace("CLIENTS", "[4]") + f"conclude: [{NULL}]\n"
    result = analyse(from_text(tmp_path, text, maker=on_hosts(others_pct)))
    found = candidate(at_most(result), "CPUs of server")
    assert found.share_pct == pytest.approx(100)
    assert str(found.state) == state
    if state == "may be reached":
        assert "took 60 % of the time of one CPU" in found.note
        assert "Runs while CPUs of server have no other work would decide." in told(result)
    names = [one.name for one in at_most(result).candidates]
    assert not [name for name in names if "machine below" in name], "each host is a machine"


def test_drops_make_the_buffer_of_the_switch_a_candidate(tmp_path: Path) -> None:
    level = at_most(concluding(tmp_path, f"[{NULL}]", up_to_four(500.0, dropped=7)))
    assert candidate(level, "buffer of switch").state == "may be reached"


def test_drops_in_front_of_a_full_link_are_that_links(tmp_path: Path) -> None:
    """A single client behind a full link: its port drops."""
    loads = up_to_four(4 * FULL, dropped=7)
    level = at_most(concluding(tmp_path, f"[{NULL}]", loads, clients="[1]"))
    assert candidate(level, "link from switch to client").state in ("limit", "reached")
    assert candidate(level, "buffer of switch").state == "not reached"


def test_drops_in_front_of_a_link_that_nobody_measured_are_the_switchs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drops_alone = {"frames_dropped": (0, 7)}
    monkeypatch.setattr(loaded, "_port", lambda **_: drops_alone)
    level = at_most(concluding(tmp_path, f"[{NULL}]", up_to_four(500.0), clients="[1]"))
    assert not any(one.name == "link from switch to client" for one in level.candidates)
    assert candidate(level, "buffer of switch").state == "may be reached"


@pytest.mark.parametrize(
    ("waits", "dropped", "kind"),
    [
        ({"congestion_window_ns": 0.4, "recovery_ns": 0.3}, 7, "port"),
        ({"congestion_window_ns": 0.7, "recovery_ns": 0.1}, 0, "congestion_window"),
        ({"timer_ns": 0.6, "congestion_window_ns": 0.2}, 7, "timeouts"),
        ({"sent_ns": 0.6, "timer_ns": 0.4}, 0, None),
    ],
)
def test_where_no_bound_is_reached_the_wait_of_the_senders_limits(
    waits: dict[str, float], dropped: int, kind: str | None, tmp_path: Path
) -> None:
    loads = up_to_four(2000.0, waits=waits, dropped=dropped)
    level = at_most(concluding(tmp_path, f"[{NULL}]", loads, clients="[1]"))
    assert (level.part and level.part.kind) == kind
    assert level.cause == ("open" if kind is None else "wait")


def test_a_wait_for_a_window_that_is_large_for_its_path_is_a_wait_for_a_queue(
    tmp_path: Path,
) -> None:
    """6 MiB in less than a millisecond are more than 50 Gbit/s."""
    loads = up_to_four(2000.0, waits={"peer_window_ns": 1.0})
    level = at_most(concluding(tmp_path, f"[{NULL}]", loads, clients="[1]"))
    assert (level.cause, level.part) == ("open", None)


def test_an_interval_that_reaches_the_limit_rules_nothing_out(tmp_path: Path) -> None:
    """85, 88 and 91 %: a mean of 88, whose interval reaches 95."""

    def loads(run: Run) -> Load:
        busy = 0.85 + 0.03 * (run.replicate - 1)
        return Load(500.0, server_cpu=busy)

    level = at_most(concluding(tmp_path, f"[{NULL}]", loads, clients="[4]"))
    found = candidate(level, "CPUs of server")
    assert found.share_pct == pytest.approx(88)
    assert found.interval is not None
    assert found.interval.high == pytest.approx(88 + 4.303 * 3 / 3**0.5, rel=1e-3)
    assert found.state == "may be reached"


def test_the_disk_and_the_cpus_of_the_machine_below_are_candidates(tmp_path: Path) -> None:
    """1.9 s of 2 s with a request under way."""
    machine = {"machine": {"disk_busy_ms": (100, 2000)}}
    loads = up_to_four(500.0, more=machine)
    level = at_most(concluding(tmp_path, f"[{NULL}]", loads, clients="[4]"))
    assert named(level) == ["disk of the machine below all hosts"]
    assert level.limits[0].share_pct == pytest.approx(95)


def test_of_a_full_link_and_a_busy_machine_the_link_is_the_limit(tmp_path: Path) -> None:
    """Other programs may use its disk: 1.98 of 2 s, and 99.3 % of the link."""
    machine = {"machine": {"disk_busy_ms": (0, 1980)}}
    loads = up_to_four(FULL, more=machine)
    level = at_most(concluding(tmp_path, f"[{NULL}]", loads, clients="[4]"))
    assert named(level) == [LINK]


def test_a_study_may_name_candidates_and_limits_of_its_own(tmp_path: Path) -> None:
    """500 Mbit/s of frames of 1,518 bytes are 41,173 a second, of 42,000: 98 %. The names of the
    study stand for the link and the CPUs that are known anyway."""
    own = (
        "{bottleneck: true, near: 95 %, at: {sink: 'null'}, candidates: "
        "{packets: 'switch@server.port_in_packets_per_s < 42000', "
        "the way in: switch@server.port_in_utilisation_pct, processors: client.cpu_pct}}"
    )
    level = at_most(concluding(tmp_path, f"[{own}]", up_to_four(500.0), clients="[4]"))
    shares = {one.name: one.share_pct for one in level.candidates}
    assert shares["packets"] == pytest.approx(100 * 500e6 / 8 / 1518 / 42000, rel=1e-3)
    assert shares["the way in"] == pytest.approx(50 * 1538 / 1518, rel=1e-3)
    assert shares["processors"] == pytest.approx(20)
    assert not {LINK, "CPUs of client"} & set(shares)
    assert named(level) == ["packets"]


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        ("server.packets_per_s", "has no limit of its own; write one, as in"),
        ("server.cpu_pct > 75", "a limit is an upper bound; write metric < number"),
        ("server.cpu_pc", "is an unknown metric"),
    ],
)
def test_a_candidate_without_a_limit_is_refused_by_its_place(
    candidate: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.yaml"
    own = f"conclude: [{{bottleneck: true, candidates: {{it: '{candidate}'}}}}]\n"
    path.write_text(STUDY.replace("CLIENTS", "[1, 2]") + own)
    with pytest.raises(StudyError, match=message):
        load_study(path)


def test_without_a_load_each_cell_is_looked_at(tmp_path: Path) -> None:
    loads: Loads = lambda run: Load(960.0 if run.treatment["sink"] == "null" else 300.0)  # noqa: E731
    result = concluding(tmp_path, "[bottleneck]", loads, clients="[4]")
    (each,) = result.concluded
    assert isinstance(each.drawn, Bottlenecks)
    found = {one.held["sink"]: named(one.levels[-1]) for one in each.drawn.limits}
    assert found == {"null": [LINK], "disk": []}


def test_every_study_has_it_although_it_does_not_ask(tmp_path: Path) -> None:
    result = concluding(tmp_path, "[plateau]", up_to_four(FULL), clients="[4, 5]")
    (found,) = [one for one in result.by_default if one.case == "main"]
    assert isinstance(found.drawn, Bottlenecks)
    assert named(found.drawn.limits[0].levels[-1]) == [LINK]


# ---- what the account of time decides

ON_LINK: Spot = ("own", "serialization", "server", "switch")
TO_CLIENT: Spot = ("own", "serialization", "switch", "client")
CPU: Spot = ("own", "cpu", "server", "")
TIMER: Spot = ("recovery", "retransmission-timer", "server", "")
PROBE: Spot = ("recovery", "probe-timer", "server", "")
WINDOW: Spot = ("peer-window", "propagation", "switch", "client")
BYTES: Spot = ("peer-window", "serialization", "server", "switch")
ACK: Spot = ("own", "delayed-ack-timer", "client", "")
WAY: Spot = ("own", "propagation", "switch", "client")
NOT_KNOWN: Spot = ("own", "not-known", "", "")


@pytest.mark.parametrize(
    ("cause", "limiting"),
    [
        ({ON_LINK: 0.9, CPU: 0.1}, [LINK]),
        ({ON_LINK: 0.1, CPU: 0.9}, ["CPUs of server"]),
        ({ON_LINK: 0.7, CPU: 0.3}, [LINK, "CPUs of server"]),
        ({ON_LINK: 0.2, CPU: 0.1, WAY: 0.7}, [LINK]),
        ({ON_LINK: (0.1, 0.6), CPU: (0.4, 0.9)}, [LINK, "CPUs of server"]),
    ],
)
def test_of_bounds_within_the_noise_the_one_that_takes_the_time_limits(
    cause: dict[Spot, float], limiting: list[str], tmp_path: Path
) -> None:
    """99.3 % of the link and 98.5 % of the CPUs, with a noise of 2 %. Bounds of an account decide
    no tie."""

    def loads(run: Run) -> Load:
        share = min(clients_of(run), 4) / 4
        return Load(FULL * share, server_cpu=0.985 * share, cause=cause)

    assert named(at_most(concluding(tmp_path, f"[{NULL}]", loads))) == limiting


def full(kind: LimitKind, node: str, bound: float) -> Candidate:
    return Candidate(Resource(kind, node, f"{kind} of {node}"), "reached", bound=bound)


def test_equal_bounds_of_one_kind_limit_together_wherever_the_time_is_spent() -> None:
    links = [full("link", "a", 100.0), full("link", "b", 100.4), full("link", "c", 102.0)]
    windows = [full("window", "a", 100.0), full("send_buffer", "b", 100.0)]
    shares = {("link", "b", ""): 99.0, ("link", "c", ""): 1.0}
    found = limits_by_time([*links, *windows], lambda key: shares.get(key, 0.0))
    assert found == links[:2]
    only = {("send_buffer", "b", ""): 80.0, ("link", "a", ""): 20.0}
    assert limits_by_time([*links, *windows], lambda key: only.get(key, 0.0)) == windows


@pytest.mark.parametrize(
    ("cause", "limiting", "largest"),
    [
        ({TIMER: 0.35, PROBE: 0.25, WAY: 0.4}, ("timeouts", ""), []),
        ({TIMER: 0.34, CPU: 0.3, WAY: 0.2, ON_LINK: 0.16}, None, ["timeouts", "cpu"]),
        ({CPU: 0.6, WAY: 0.4}, ("cpu", "server"), []),
        ({ACK: 0.7, WAY: 0.3}, ("delayed_ack", "client"), []),
        ({WINDOW: 0.8, ON_LINK: 0.2}, ("window", "client"), []),
        ({BYTES: 0.8, WAY: 0.2}, ("link", "server"), []),
        ({TIMER: (0.55, 0.9), NOT_KNOWN: (0.1, 0.45)}, ("timeouts", ""), []),
        ({TIMER: (0.45, 0.9), NOT_KNOWN: (0.1, 0.55)}, None, ["timeouts"]),
    ],
)
def test_where_no_bound_is_reached_the_part_with_most_of_the_time_limits(
    cause: dict[Spot, float],
    limiting: tuple[str, str] | None,
    largest: list[str],
    tmp_path: Path,
) -> None:
    """At least half of the time; of bounds the lower one counts. Where nothing takes as much, the
    two largest are named. The clocks of senders, which wait for a buffer, count no more."""
    loads = up_to_four(2000.0, cause=cause, waits={"own_buffer_ns": 0.9})
    level = at_most(concluding(tmp_path, f"[{NULL}]", loads, clients="[1]"))
    assert (level.part and (level.part.kind, level.part.node)) == limiting
    assert [part.kind for part in level.largest] == largest
    assert level.cause == ("open" if limiting is None else "wait")


def test_a_link_that_comes_with_each_client_limits_nothing_by_its_time(tmp_path: Path) -> None:
    """Of two clients each has a link of its own, on which all of its time is spent."""
    loads = up_to_four(1000.0, cause={TO_CLIENT: 0.9, WAY: 0.1})
    result = concluding(tmp_path, f"[{NULL}]", loads, clients="[1, 2]")
    assert [one.cause for one in limits(result).levels] == ["served", "served"]
