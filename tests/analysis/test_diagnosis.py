"""What a diagnosis says of each cell, by records with a planted limit."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from netstudy.analysis.confirmation import Confirmation, chosen, confirmation
from netstudy.analysis.diagnosis import Diagnosis, diagnose
from netstudy.analysis.intervals import Interval
from netstudy.analysis.predictions import Measured, Prediction
from netstudy.analysis.raising import CannotRaiseError
from netstudy.analysis.study_result import Pooled, pool
from netstudy.plan import make_plan
from netstudy.study.loader import load_text
from netstudy.study.one_cell import one_cell
from netstudy.wire import Run
from tests.report.accounts import Shares, Spot
from tests.report.loaded import STUDY, Load, Loads, record
from tests.report.results import from_text

FULL = 980.0
"""Of 1,000 Mbit/s: 99.3 % with preambles and gaps, 980 × 1538 ÷ 1518."""
SHARE = FULL * 1538 / 1518 / 1000


def pooled(folder: Path, loads: Loads, more: str = "", clients: str = "[1, 2, 4, 5]") -> Pooled:
    text = STUDY.replace("CLIENTS", clients) + more
    return pool(from_text(folder, text, maker=lambda run: record(run, loads(run))))


def diagnosed(folder: Path, loads: Loads, more: str = "") -> tuple[Pooled, Diagnosis]:
    found = pooled(folder, loads, more)
    return found, diagnose(found.study, found.cells)


def confirmed(found: Pooled, **at: Any) -> Confirmation:
    setting, level = chosen(diagnose(found.study, found.cells), at)
    return confirmation(found.study, found.cells, setting, level, Fraction(1))


def up_to_four(run: Run) -> Load:
    """Grows with the clients up to four, and then no more."""
    return Load(FULL * min(len(run.workload.roles.client), 4) / 4)


def idle(_: Run) -> Load:
    """Nothing is full, and throughput does not grow."""
    return Load(400.0)


def of(entries: list[dict[str, Any]], **at: object) -> list[dict[str, Any]]:
    return [one for one in entries if at.items() <= one["at"].items()]


def test_each_cell_has_its_limit_with_the_measured_value(tmp_path: Path) -> None:
    data = diagnosed(tmp_path, up_to_four)[1].as_data()
    assert data["cannot_tell"] == []
    (one,) = of(data["bottleneck"], sink="disk", clients=5)
    assert (one["kind"], one["node"], one["cause"]) == ("link", "server", "bound")
    (evidence,) = one["evidence"]
    assert evidence["metric"] == "switch@server.port_in_utilisation_pct"
    assert evidence["value"] == pytest.approx(100 * SHARE, rel=1e-4)
    assert evidence["limit"] == 100
    low, high = evidence["interval"]
    assert low <= evidence["value"] <= high
    assert [one["at"]["clients"] for one in of(data["bottleneck"], sink="disk")] == [1, 2, 4, 5]


def test_where_nothing_limits_the_next_bound_and_its_load_are_told(tmp_path: Path) -> None:
    data = diagnosed(tmp_path, up_to_four)[1].as_data()
    (one,) = of(data["bottleneck"], sink="disk", clients=2)
    assert (one["kind"], one["cause"]) == ("none", "served")
    assert (one["next"]["kind"], one["next"]["node"]) == ("link", "server")
    assert one["next"]["load"] == pytest.approx(4 / SHARE, rel=1e-3)


def test_what_is_ruled_out_says_why(tmp_path: Path) -> None:
    data = diagnosed(tmp_path, up_to_four)[1].as_data()
    cpu = next(
        one
        for one in of(data["ruled_out"], sink="disk", clients=5)
        if (one["kind"], one["node"]) == ("cpu", "server")
    )
    assert cpu["why"].startswith("30.0 % of its limit")
    assert {one["kind"] for one in of(data["ruled_out"], clients=5)} >= {"cpu", "link"}


def test_a_cpu_that_is_as_busy_without_work_is_ruled_out(tmp_path: Path) -> None:
    def busy(run: Run) -> Load:
        return Load(up_to_four(run).mbps, server_cpu=0.97)

    data = diagnosed(tmp_path, busy)[1].as_data()
    own = [
        one
        for one in of(data["ruled_out"], sink="disk", clients=5)
        if (one["kind"], one["node"]) == ("cpu", "server")
    ]
    assert len(own) == 1
    assert own[0]["why"].startswith("busy 97.0 % here, 97.0 % at clients 1")
    assert all(one["kind"] != "cpu" for one in data["bottleneck"])


def test_an_undecided_cell_is_in_no_other_list(tmp_path: Path) -> None:
    _, found = diagnosed(tmp_path, idle)
    data = found.as_data()
    assert found.is_undecided
    assert of(data["bottleneck"], clients=5) == []
    assert of(data["cannot_tell"], clients=5)
    assert all(one["what to measure"] for one in data["cannot_tell"])


def test_candidates_of_the_study_are_used_at_every_setting(tmp_path: Path) -> None:
    more = (
        "conclude: [{bottleneck: true, at: {sink: disk}, "
        "candidates: {the only core: server.cpu_pct}}]\n"
    )
    data = diagnosed(tmp_path, lambda _: Load(200.0, server_cpu=0.99), more)[1].as_data()
    named = {(one["name"], one["at"]["sink"]) for one in of(data["bottleneck"], clients=5)}
    assert named == {("the only core", "null"), ("the only core", "disk")}


# ---- the runs that confirm


def test_the_limit_is_doubled_at_the_highest_load(tmp_path: Path) -> None:
    """The star has one value for all of its links, so no link can be raised alone."""
    found, _ = diagnosed(tmp_path, up_to_four)
    run = confirmed(found)
    assert run.level.row.treatment["clients"] == 5
    first = run.experiments[0]
    assert first.claim == "limit"
    assert first.raised.values["topology.link.rate"] == "2 Gbit/s"
    assert {key[1:] for key in first.raised.moved} >= {("server", "switch"), ("switch", "client")}
    assert all(bound.kind != "link" for one in run.experiments[1:] for bound in one.raised.bounds)


def test_the_least_gain_ends_at_the_next_bound(tmp_path: Path) -> None:
    """A CPU that is used for 80 % allows 1.25 times as much."""
    found = pooled(
        tmp_path,
        lambda run: Load(up_to_four(run).mbps, server_cpu=0.8 * up_to_four(run).mbps / FULL),
    )
    first = confirmed(found).experiments[0]
    assert first.predicted.at_most == pytest.approx(1.25)
    assert first.predicted.at_least == pytest.approx(1.25)
    assert first.predicted.low == pytest.approx(1.25 * 0.98)


def test_a_cell_is_chosen_by_its_levels(tmp_path: Path) -> None:
    found = pooled(tmp_path, up_to_four)
    level = confirmed(found, sink="null", clients=4).level
    assert level.row.treatment == {"sink": "null", "clients": 4}
    with pytest.raises(CannotRaiseError, match="no cell"):
        confirmed(found, clients=7)


def test_a_load_that_nothing_limits_is_doubled(tmp_path: Path) -> None:
    """Two clients use half of the link. A study may not vary a factor that nothing refers to, so
    the factor keeps one level."""
    first = confirmed(pooled(tmp_path, up_to_four), clients=2).experiments[0]
    assert first.raised.values == {
        "topology.hosts.client.count": "4",
        "factors.clients": "[2]",
    }
    assert first.predicted.at_least == pytest.approx(2.0)


ACK: Spot = ("own", "delayed-ack-timer", "client", "")
TIMER: Spot = ("recovery", "retransmission-timer", "server", "")
CPU: Spot = ("own", "cpu", "server", "")
ON_LINK: Spot = ("own", "serialization", "server", "switch")
WAY: Spot = ("own", "propagation", "server", "switch")


def waiting(folder: Path, cause: Shares, cpu: float = 0.3) -> Pooled:
    """A single client, for whom nothing is full."""
    return pooled(folder, lambda _: Load(400.0, cause=cause, server_cpu=cpu), clients="[1]")


@pytest.mark.parametrize(
    ("spot", "path", "value", "most"),
    [
        (ACK, "client.tcp.delayed_ack", "20 ms", 1 / (1 - 0.8 / 2)),
        (TIMER, "server.tcp.min_rto", "20 ms", 1 / (1 - 0.8 * 0.9)),
    ],
)
def test_a_wait_gains_more_than_the_noise_and_no_more_than_its_share(
    spot: Spot, path: str, value: str, most: float, tmp_path: Path
) -> None:
    found = confirmed(waiting(tmp_path, {spot: 0.8, WAY: 0.2}), clients=1)
    first = found.experiments[0]
    assert first.raised.values == {f"topology.hosts.{path}": value}
    assert first.predicted.at_most == pytest.approx(most)
    assert first.predicted.low == pytest.approx(1.02)


def test_what_is_ruled_out_gains_its_share_of_the_time_and_not_of_its_use(tmp_path: Path) -> None:
    """The link is in use for 40 %, and takes 10 % of the time."""
    found = confirmed(waiting(tmp_path, {ACK: 0.8, ON_LINK: 0.1, WAY: 0.1}), clients=1)
    other = found.experiments[1]
    assert (other.claim, other.raised.bounds[0].kind) == ("ruled out", "link")
    assert other.predicted.at_most == pytest.approx(1 / (1 - 0.1 / 2))


def test_an_undecided_cell_names_the_two_largest_parts_of_its_time(tmp_path: Path) -> None:
    parts: Shares = {ACK: 0.4, CPU: 0.35, WAY: 0.25}
    found = waiting(tmp_path, parts)
    data = diagnose(found.study, found.cells).as_data()
    first, second, *_ = of(data["cannot_tell"], sink="disk")
    assert [one["kind"] for one in (first, second)] == ["delayed_ack", "cpu"]
    assert [one["evidence"][0]["value"] for one in (first, second)] == pytest.approx([40, 35])
    ruled_out = of(data["ruled_out"], sink="disk")
    assert not [one for one in ruled_out if (one["kind"], one["node"]) == ("cpu", "server")]


def test_an_undecided_cell_is_not_confirmed(tmp_path: Path) -> None:
    with pytest.raises(CannotRaiseError, match="not decided"):
        confirmed(pooled(tmp_path, idle))


def test_the_study_of_one_cell_has_the_random_numbers_of_the_cell(tmp_path: Path) -> None:
    found = pooled(tmp_path, up_to_four)
    row = found.cells.rows[0]
    text = one_cell(found.study, row.treatment, {"topology.link.delay": "5 us"}, "changed")
    plan = make_plan(load_text(text, tmp_path / "study.yaml")).plan
    assert [
        (run.treatment, run.seed) for run in sorted(plan.runs, key=lambda run: run.replicate)
    ] == [(run.treatment, run.seed) for run in sorted(row.planned, key=lambda run: run.replicate)]
    assert {link.delay_ns for link in plan.runs[0].network.links} == {5_000}
    before = {link.delay_ns for link in row.planned[0].network.links}
    assert before == {0}


@pytest.mark.parametrize(
    ("ratio", "interval", "verdict"),
    [
        (1.95, None, "confirmed"),
        (1.93, None, "refuted"),
        (1.93, Interval(1.92, 1.935), "refuted"),
        (1.93, Interval(1.8, 2.1), "undecided"),
        (2.1, Interval(2.08, 2.12), "refuted"),
    ],
)
def test_a_prediction_is_refuted_only_by_the_whole_interval(
    ratio: float, interval: Interval | None, verdict: str
) -> None:
    assert Prediction(2.0, 2.0, 0.03).verdict(Measured(ratio, interval)) == verdict
