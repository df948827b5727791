"""Whose limit it is, by records with a planted answer: shares are worked by hand beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.conclusions.bottleneck import Bottlenecks, Candidate, Limits
from netstudy.analysis.study_result import StudyResult
from netstudy.errors import StudyError
from netstudy.study import load as load_study
from netstudy.wire import Run
from tests.report import loaded
from tests.report.loaded import STUDY, Load, Loads, concluding, told

NULL = "{bottleneck: true, at: {sink: 'null'}}"
FULL = 980.0
"""Of 1,000 Mbit/s: 99.3 % with preambles and gaps, 980 × 1538 ÷ 1518."""
LINK = "link from server to switch"


def clients_of(run: Run) -> int:
    return len(run.workload.roles.client)


def up_to_four(most: float, **more: object) -> Loads:
    """Grows with the clients up to four, and then no more."""

    def loads(run: Run) -> Load:
        rate = most * min(clients_of(run), 4) / 4
        return Load(rate, **more)  # type: ignore[arg-type]

    return loads


def limits(result: StudyResult) -> Limits:
    (each,) = result.concluded
    assert isinstance(each.drawn, Bottlenecks)
    (found,) = each.drawn.limits
    return found


def candidate(found: Limits, name: str) -> Candidate:
    return next(one for one in found.candidates if one.name == name)


def test_the_one_that_is_full_is_the_limit_and_the_others_are_ruled_out(tmp_path: Path) -> None:
    result = concluding(tmp_path, f"[{NULL}]", up_to_four(FULL))
    found = limits(result)
    assert found.limit is not None
    assert found.limit.name == LINK
    assert found.limit.share_pct == pytest.approx(980 * 1538 / 1518 / 10, rel=1e-4)
    assert found.row.treatment["clients"] == 4
    shares = {one.name: one.share_pct for one in found.candidates}
    assert shares["CPUs of server"] == pytest.approx(30)
    assert shares["CPUs of client"] == pytest.approx(20)
    a_quarter = 980 / 4 * 1538 / 1518 / 10
    assert shares["link from switch to client"] == pytest.approx(a_quarter, rel=1e-4)
    assert shares["link from switch to server"] == 0
    assert {one.state for one in found.candidates if one.name != LINK} == {"not at its limit"}
    first, ruled_out = told(result)
    assert first == f"The limit is the {LINK}: 99.3 % at 4 clients, 934.8 Mbit/s."
    assert ruled_out.startswith(
        "Below 90 % of their limits, and ruled out: CPUs of server (30.0 %)"
    )


def test_settings_with_the_same_limit_are_told_of_at_once(tmp_path: Path) -> None:
    def loads(run: Run) -> Load:
        rate = FULL * min(clients_of(run), 4) / 4
        return Load(rate, server_cpu=0.3 if run.treatment["sink"] == "null" else 0.2)

    first, ruled_out = told(concluding(tmp_path, "[bottleneck]", loads))
    assert first == (
        f"The limit is the {LINK} in both settings of sink: 99.3 % at 4 clients, 934.8 Mbit/s."
    )
    assert ruled_out.startswith(
        "Below 90 % of their limits, and ruled out: CPUs of server (20.0 to 30.0 %)"
    )


def test_settings_with_other_limits_are_told_of_one_by_one(tmp_path: Path) -> None:
    def loads(run: Run) -> Load:
        is_disk = run.treatment["sink"] == "disk"
        rate = (500.0 if is_disk else FULL) * min(clients_of(run), 4) / 4
        return Load(rate, server_cpu=0.95 if is_disk else 0.3)

    said = told(concluding(tmp_path, "[bottleneck]", loads))
    verdicts = [one for one in said if one.startswith("The limit is")]
    assert verdicts == [
        f"The limit is the {LINK}: 99.3 % at 4 clients (sink null), 934.8 Mbit/s.",
        "The limit is the CPUs of server: 95.0 % at 4 clients (sink disk), 476.9 Mbit/s.",
    ]


def test_hosts_that_only_watch_are_no_candidates(tmp_path: Path) -> None:
    found = limits(concluding(tmp_path, f"[{NULL}]", up_to_four(FULL)))
    assert not any("monitor" in one.name for one in found.candidates)


def test_two_that_are_full_decide_nothing(tmp_path: Path) -> None:
    result = concluding(tmp_path, f"[{NULL}]", up_to_four(FULL, server_cpu=0.97))
    assert limits(result).limit is None
    verdict, _, what = told(result)
    assert verdict.startswith("The bottleneck is not decided at 4 clients, 934.8 Mbit/s: ")
    assert f"{LINK} (99.3 %) and CPUs of server (97.0 %) are near their limits" in verdict
    assert what.startswith("A run with more of only one of them would decide")


def test_where_none_is_full_the_limit_is_something_else(tmp_path: Path) -> None:
    result = concluding(tmp_path, f"[{NULL}]", up_to_four(500.0))
    assert limits(result).limit is None
    verdict, _, what = told(result)
    assert verdict.endswith("nothing that was measured is near its limit.")
    assert what.startswith("The limit is none of these: it is a wait that uses no resource")


def test_settings_that_grow_towards_the_same_are_told_of_at_once(tmp_path: Path) -> None:
    first, *_ = told(concluding(tmp_path, "[bottleneck]", up_to_four(FULL), clients="[1, 2, 4]"))
    assert first.startswith(
        "The bottleneck is not decided in both settings of sink at 4 clients, 934.8 Mbit/s: "
    )
    assert f"the fullest is the {LINK} (99.3 %)" in first


def test_while_throughput_grows_nothing_is_said_to_be_full(tmp_path: Path) -> None:
    result = concluding(tmp_path, f"[{NULL}]", up_to_four(FULL), clients="[1, 2, 4]")
    found = limits(result)
    assert found.grows
    assert found.limit is None
    assert told(result)[0].endswith("; the fullest is the link from server to switch (99.3 %).")


def test_of_several_hosts_the_fullest_counts(tmp_path: Path) -> None:
    """Three clients idle, and one is busy: their mean is 31 %."""

    def loads(run: Run) -> Load:
        names = run.workload.roles.client
        busy = dict.fromkeys(names, 0.1) | {names[-1]: 0.95}
        return Load(500.0 * min(clients_of(run), 4) / 4, client_cpu=busy)

    result = concluding(tmp_path, f"[{NULL}]", loads)
    found = candidate(limits(result), "CPUs of client")
    assert found.where == "client-4"
    assert found.share_pct == pytest.approx(95)
    assert told(result)[0].startswith("The limit is the CPUs of client (client-4): 95.0 %")


@pytest.mark.parametrize(
    ("mean", "most", "state"),
    [(0.3, 100.0, "may be at its limit"), (0.2, 80.0, "not at its limit")],
)
def test_one_of_four_cpus_may_be_full_where_they_are_counted_together(
    mean: float, most: float, state: str, tmp_path: Path
) -> None:
    """30 % of four CPUs is 1.2 of one; 20 % is 0.8, too little to fill any."""
    loads = up_to_four(500.0, server_cpu=mean, client_cpu=0.05, cpus=4.0)
    result = concluding(tmp_path, f"[{NULL}]", loads)
    found = candidate(limits(result), "one CPU of server")
    assert (found.share_pct, found.state) == (None, state)
    assert found.at_most_pct == pytest.approx(most)
    if state == "may be at its limit":
        verdict, *_, what = told(result)
        assert "one CPU of server (at most 100 %) may be at its limit" in verdict
        assert what == "Counters of each single one of them would decide."


def test_what_may_be_full_does_not_hide_what_is(tmp_path: Path) -> None:
    loads = up_to_four(FULL, server_cpu=0.3, client_cpu=0.05, cpus=4.0)
    result = concluding(tmp_path, f"[{NULL}]", loads)
    found = limits(result).limit
    assert found is not None
    assert found.name == LINK
    assert told(result)[1] == "Also not ruled out: one CPU of server (at most 100 %)."


def test_drops_make_the_switch_a_candidate(tmp_path: Path) -> None:
    result = concluding(tmp_path, f"[{NULL}]", up_to_four(500.0, dropped=7))
    assert candidate(limits(result), "switch").state == "may be at its limit"
    assert "switch (it dropped frames) may be at its limit" in told(result)[0]


def test_drops_in_front_of_a_full_link_are_that_links(tmp_path: Path) -> None:
    """A single client behind a full link: its port drops."""
    loads = up_to_four(4 * FULL, dropped=7)
    found = limits(concluding(tmp_path, f"[{NULL}]", loads, clients="[1]"))
    assert candidate(found, "link from switch to client").state == "at its limit"
    assert candidate(found, "switch").state == "not at its limit"


def test_drops_in_front_of_a_link_that_nobody_measured_are_the_switchs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drops_alone = {"frames_dropped": (0, 7)}
    monkeypatch.setattr(loaded, "_port", lambda **_: drops_alone)
    found = limits(concluding(tmp_path, f"[{NULL}]", up_to_four(500.0), clients="[1]"))
    assert candidate(found, "link from switch to client").state == "not measured"
    assert candidate(found, "switch").state == "may be at its limit"


def test_an_interval_that_reaches_the_limit_rules_nothing_out(tmp_path: Path) -> None:
    """85, 88 and 91 %: a mean of 88, whose interval reaches 95."""

    def loads(run: Run) -> Load:
        busy = 0.85 + 0.03 * (run.replicate - 1)
        return Load(500.0 * min(clients_of(run), 4) / 4, server_cpu=busy)

    found = candidate(limits(concluding(tmp_path, f"[{NULL}]", loads)), "CPUs of server")
    assert found.share_pct == pytest.approx(88)
    assert found.interval is not None
    assert found.interval.high == pytest.approx(88 + 4.303 * 3 / 3**0.5, rel=1e-3)
    assert found.state == "may be at its limit"


def test_the_disk_and_the_cpus_of_the_machine_below_are_candidates(tmp_path: Path) -> None:
    """1.9 s of 2 s with a request under way."""
    machine = {"machine": {"disk_busy_ms": (100, 2000)}}
    found = limits(concluding(tmp_path, f"[{NULL}]", up_to_four(500.0, more=machine)))
    assert found.limit is not None
    assert found.limit.name == "disk of the machine below all hosts"
    assert found.limit.share_pct == pytest.approx(95)


def test_windows_count_where_the_sockets_that_were_read_sent_the_data(tmp_path: Path) -> None:
    """1.8 s of 1.9 s behind a closed window; not where other sockets carried the data."""
    sent = round(500e6 / 8 * 2)
    times = {"flow_busy_us": (0, 1_900_000), "flow_receiver_limited_us": (0, 1_800_000)}
    name = "receive window of those that server sends to"
    own = {"server": {**times, "bytes_sent": (0, sent)}}
    found = limits(concluding(tmp_path, f"[{NULL}]", up_to_four(500.0, more=own)))
    assert candidate(found, name).share_pct == pytest.approx(100 * 1.8 / 1.9)
    (tmp_path / "other").mkdir()
    gone = {"server": {**times, "bytes_sent": (0, sent // 2)}}
    found = limits(concluding(tmp_path / "other", f"[{NULL}]", up_to_four(500.0, more=gone)))
    assert all(one.name != name for one in found.candidates)


def test_a_study_may_name_candidates_and_limits_of_its_own(tmp_path: Path) -> None:
    """500 Mbit/s of frames of 1,518 bytes are 41,173 a second, of 42,000: 98 %."""
    own = (
        "{bottleneck: true, near: 95 %, at: {sink: 'null'}, candidates: "
        "{packets: 'switch@server.port_in_packets_per_s < 42000', "
        "the way out: switch@server.port_in_mbps, processors: client.cpu_pct}}"
    )
    result = concluding(tmp_path, f"[{own}]", up_to_four(500.0))
    found = limits(result)
    shares = {one.name: one.share_pct for one in found.candidates}
    assert shares == {
        "packets": pytest.approx(100 * 500e6 / 8 / 1518 / 42000, rel=1e-3),
        "the way out": pytest.approx(50),
        "processors": pytest.approx(20),
    }
    assert found.limit is not None
    assert found.limit.name == "packets"


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
    limit = {one.held["sink"]: one.limit and one.limit.name for one in each.drawn.limits}
    assert limit == {"null": LINK, "disk": None}


def test_the_most_loaded_level_of_a_plateau_is_looked_at(tmp_path: Path) -> None:
    """Six clients gain less than the noise over four, and what is full is fuller there."""

    def loads(run: Run) -> Load:
        n = clients_of(run)
        return Load({1: 240.0, 2: 480.0, 4: 900.0, 6: 912.0}[n], server_cpu=0.2)

    found = limits(concluding(tmp_path, f"[{NULL}]", loads, clients="[1, 2, 4, 6]"))
    assert found.row.treatment["clients"] == 6


def test_where_two_are_full_a_later_level_of_the_plateau_decides(tmp_path: Path) -> None:
    """Four clients of 25 % each are full too; with five of them it is the link alone."""

    def loads(run: Run) -> Load:
        full = clients_of(run) == 4
        rate = min(FULL, 245.0 * clients_of(run)) - (0.0 if full else 1.0)
        return Load(rate, client_cpu=0.97 if full else 0.7)

    found = limits(concluding(tmp_path, f"[{NULL}]", loads, clients="[1, 2, 4, 5]"))
    assert found.row.treatment["clients"] == 5
    assert found.limit is not None
    assert found.limit.name == LINK
