"""Clients per link, scaling and trade-offs: by planted loads, whose results are worked by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from netstudy.analysis.cells import CellRow
from netstudy.analysis.conclusions.compare import Compared
from netstudy.analysis.conclusions.extrapolate import Extrapolated, Extrapolations
from netstudy.analysis.conclusions.loss_against_ideal import Losses
from netstudy.analysis.line_rates import capacity, carrying_bps
from netstudy.analysis.nodes import node_metric
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.analysis.workloads import WorkloadAnalysis
from netstudy.analysis.workloads.transfer import GOODPUT
from netstudy.report.conclusions import conclusion_tables
from netstudy.study import Study, load
from netstudy.study.vocabulary import split_metric
from netstudy.wire import Run
from tests.report.loaded import STUDY, Load, concluding, record, told
from tests.report.results import from_text

PAYLOAD = 1518 / 1448
"""Frames of a goodput, as a switch counts them."""
SERVED = "[{extrapolate: clients per link, at: {sink: 'null'}}]"


def drawn(result: StudyResult) -> list[Any]:
    return [found.drawn for found in result.concluded]


def extrapolated(result: StudyResult) -> list[Extrapolated]:
    each = [one for one in drawn(result) if isinstance(one, Extrapolations)]
    return [one for found in each for one in found.each]


def steady(each: float) -> Any:
    """Every client takes the same goodput."""
    return lambda run: Load(PAYLOAD * each * len(run.workload.roles.client))


def test_clients_per_link_are_what_it_carries_by_what_one_takes(tmp_path: Path) -> None:
    """1,448 of 1,538 bytes on the wire are payload, 941.5 of 1,000 Mbit/s: 9.4 clients of 100."""
    result = concluding(tmp_path, SERVED, steady(100.0), clients="[1, 2, 3]")
    (found,) = extrapolated(result)
    assert found.capacity.mbps == pytest.approx(1000 * 1448 / 1538)
    assert (found.clients, found.range) == (9, (9, 9))
    assert found.basis.clients == 3
    first, *_ = told(result)
    assert first == (
        "One link would serve 9 clients: 1 Gbit/s × 0.941 (payload of full frames) = 941 Mbit/s, ÷ "
        "100.0 Mbit/s a client as measured with 3 clients = 9.41, rounded down."
    )


def test_a_number_is_never_shown_as_the_next_whole_one_and_one_client_is_one(
    tmp_path: Path,
) -> None:
    """941.5 ÷ 470.8 is 1.9998."""
    first, *_ = told(concluding(tmp_path, SERVED, steady(470.8), clients="[1]"))
    assert first.startswith("One link would serve 1 client: ")
    assert first.endswith("470.8 Mbit/s a client as measured with 1 client = 1.9998, rounded down.")


def test_what_does_not_count_clients_is_a_setting_of_its_own(tmp_path: Path) -> None:
    """Two clients of 20 each: 4 fill what a link of 100 Mbit/s carries, 47 one of 1 Gbit/s."""
    text = STUDY.replace("CLIENTS", "[2]").replace("rate: 1 Gbit/s", 'rate: "${rate}"')
    text = text.replace("factors:", "factors:\n  rate: [100 Mbit/s, 1 Gbit/s]")
    loads = steady(20.0)
    text += f"conclude: {SERVED}\n"
    result = analyse(from_text(tmp_path, text, maker=lambda run: record(run, loads(run))))
    found = extrapolated(result)
    assert [(one.held, one.clients) for one in found] == [
        ({"rate": "100 Mbit/s"}, 4),
        ({"rate": "1 Gbit/s"}, 47),
    ]


def test_at_a_port_frames_count_without_preamble_and_gap(tmp_path: Path) -> None:
    """1,518 of 1,538 bytes; of a link of which nobody knows the rate, nothing is known."""
    result = concluding(tmp_path, SERVED, steady(100.0), clients="[1, 2]")
    row, study = result.cells.rows[0], load(tmp_path)
    port = node_metric(split_metric("switch@server.port_in_mbps"))
    found = capacity(study, result.cells.workload, row, port)
    assert found is not None
    assert found.mbps == pytest.approx(1000 * 1518 / 1538)
    nowhere = node_metric(split_metric("switch@elsewhere.port_in_mbps"))
    assert capacity(study, result.cells.workload, row, nowhere) is None
    assert (
        capacity(study, result.cells.workload, row, node_metric(split_metric("server.cpu_pct")))
        is None
    )


def between(
    folder: Path, clients: int, servers: int, direction: str
) -> tuple[Study, WorkloadAnalysis, CellRow]:
    """Clients at 10 Gbit/s and servers at 5, of which nothing was measured."""
    text = f"""
study: carried
question: Which link carries all of it?
factors: {{direction: [{direction}]}}
topology:
  hosts:
    client: {{profile: host-10g, count: {clients}}}
    server: {{profile: host-10g, count: {servers}}}
  switches: {{switch: generic-deep}}
  links:
    - {{between: [client, switch], rate: 10 Gbit/s}}
    - {{between: [server, switch], rate: 5 Gbit/s}}
workload:
  transfer: {{direction: "${{direction}}"}}
procedure: {{measure: 2 s}}
"""
    cells = analyse(from_text(folder, text, lambda _: None)).cells
    return load(folder), cells.workload, cells.rows[0]


@pytest.mark.parametrize(
    ("clients", "servers", "direction", "mbps"),
    [
        (4, 1, "get", 5_000),
        (1, 4, "get", 10_000),
        (1, 4, "put", 10_000),
        (4, 4, "get", None),
        (4, 1, "both", None),
    ],
)
def test_a_link_carries_all_of_it_where_one_host_is_at_its_end(
    clients: int, servers: int, direction: str, mbps: int | None, tmp_path: Path
) -> None:
    found = carrying_bps(*between(tmp_path, clients, servers, direction), GOODPUT)
    assert found == (None if mbps is None else mbps * 1_000_000)


@pytest.mark.parametrize(
    ("direction", "mbps", "counted"),
    [
        ("put", 5_000, "payload of full frames"),
        ("both", 10_000, "payload of full frames, both directions"),
    ],
)
def test_a_link_carries_bytes_of_both_directions_at_once(
    direction: str, mbps: int, counted: str, tmp_path: Path
) -> None:
    found = capacity(*between(tmp_path, 4, 1, direction), GOODPUT)
    assert found is not None
    assert (found.line_bps, found.counted) == (mbps * 1_000_000, counted)


def test_clients_that_take_nothing_are_no_basis(tmp_path: Path) -> None:
    result = concluding(tmp_path, SERVED, steady(0.0), clients="[1, 2]")
    assert extrapolated(result) == []


def test_the_range_is_over_all_numbers_of_clients_and_their_replicates(tmp_path: Path) -> None:
    """One client takes 100 ± 0, two take 90, 100 and 110 each: t(.975, 2) × 10 ÷ √3 = 24.84, so
    941.5 ÷ 124.84 = 7.5 to 941.5 ÷ 75.16 = 12.5."""

    def loads(run: Run) -> Load:
        n = len(run.workload.roles.client)
        return Load(PAYLOAD * (100.0 if n == 1 else 2 * (80.0 + 10 * run.replicate)))

    (found,) = extrapolated(concluding(tmp_path, SERVED, loads, clients="[1, 2]"))
    interval = found.basis.interval
    assert interval is not None
    assert interval.low == pytest.approx(75.16, abs=0.01)
    assert interval.high == pytest.approx(124.84, abs=0.01)
    assert found.range == (7, 12)


def test_clients_that_the_link_holds_back_are_no_basis(tmp_path: Path) -> None:
    """Two of 400 fit, three share 930 of 941.5."""

    def loads(run: Run) -> Load:
        return Load(PAYLOAD * min(400.0 * len(run.workload.roles.client), 930.0))

    result = concluding(tmp_path, SERVED, loads, clients="[1, 2, 3]")
    (found,) = extrapolated(result)
    assert (found.basis.clients, found.clients) == (2, 2)
    assert found.filled is not None
    assert found.filled.clients == 3
    assert "Measured: 3 clients fill 99 % of it." in told(result)


def test_the_largest_throughput_of_any_setting_stands_beside_it(tmp_path: Path) -> None:
    """Three clients that discard take 600; one that writes takes 50: 12 of those."""

    def loads(run: Run) -> Load:
        each = 200.0 if run.treatment["sink"] == "null" else 50.0
        return Load(PAYLOAD * each * len(run.workload.roles.client))

    asked = "[{extrapolate: clients per link, at: {sink: disk}}]"
    result = concluding(tmp_path, asked, loads, clients="[1, 2, 3]")
    assert any("600.0 Mbit/s" in one and "of 12.0 such clients" in one for one in told(result))


def test_the_largest_throughput_is_that_of_the_own_test_case(tmp_path: Path) -> None:
    """Both cases have the cell of one client; that of four is the other one's."""
    cases = "cases:\n  low: {factors: {clients: [1, 2]}}\n  high: {factors: {clients: [1, 4]}}\n"
    text = re.sub(r"factors:\n  sink.*\n  clients: CLIENTS\n", cases, STUDY)
    text = text.replace("${sink.request}", "64 B") + "conclude: [{extrapolate: clients per link}]\n"
    loads = steady(100.0)
    result = analyse(from_text(tmp_path, text, maker=lambda run: record(run, loads(run))))
    low, high = extrapolated(result)
    assert (low.most.treatment, high.most.treatment) == ({"clients": 2}, {"clients": 4})


def test_shares_are_in_the_order_of_the_clients(tmp_path: Path) -> None:
    levels = "[{name: many, n: 3}, {name: few, n: 2}]"
    text = STUDY.replace("CLIENTS", levels).replace("${clients}", "${clients.n}")
    loads = steady(100.0)
    text += f"conclude: {SERVED}\n"
    result = analyse(from_text(tmp_path, text, maker=lambda run: record(run, loads(run))))
    (found,) = extrapolated(result)
    assert [share.clients for share in found.shares] == [2, 3]


def test_more_than_in_proportion_is_remarked_and_so_is_a_missing_level(tmp_path: Path) -> None:
    """One takes 63, two 184: 2.92 times as much, 46 % more than 126. Levels 4 and 5 are those of
    the other sink."""
    rates = {
        ("disk", 1): 63.0,
        ("disk", 2): 184.0,
        ("null", 1): 292.0,
        ("null", 2): 440.0,
        ("null", 4): 762.0,
        ("null", 5): 762.0,
    }

    def loads(run: Run) -> Load:
        at = (str(run.treatment["sink"]), int(run.treatment["clients"]))
        return Load(PAYLOAD * rates.get(at, 0.0))

    result = concluding(tmp_path, "[loss against ideal]", loads)
    (found,) = drawn(result)
    assert isinstance(found, Losses)
    null, disk = found.losses
    shares = [lost.share_pct for lost in null.levels]
    assert shares == pytest.approx([24.66, 34.76, 47.81], abs=0.01)
    assert disk.levels[0].share_pct == pytest.approx(-46.03, abs=0.01)
    said = told(result)
    assert any("Superlinear: 2 clients carry 2.92 times as much as 1 client" in one for one in said)
    assert "Not measured (sink disk): 4 and 5 clients." in said
    table, *_ = conclusion_tables(result)
    assert [str(row[3]) for row in table.rows][:4] == ["29.2", "44.0", "76.2", "76.2"]


CPU = "[{compare: sink, on: [switch@server.port_in_mbps, server.cpu_pct]}]"


@pytest.mark.parametrize(
    ("rate", "cpu", "leaders"),
    [(1.2, 0.5, ("disk", "null")), (1.2, 0.1, ("disk",)), (1.0, 0.3, ())],
)
def test_more_throughput_for_more_cpu_is_a_trade_off(
    rate: float, cpu: float, leaders: tuple[str, ...], tmp_path: Path
) -> None:
    """A rate has no better direction and more of it is wanted; of CPU time, less."""

    def loads(run: Run) -> Load:
        small = 1 + 0.0001 * run.replicate
        if run.treatment["sink"] == "null":
            return Load(100.0 * small, server_cpu=0.3)
        return Load(100.0 * rate * small, server_cpu=cpu)

    result = concluding(tmp_path, CPU, loads, clients="[1, 2]")
    (found,) = drawn(result)
    assert isinstance(found, Compared)
    (trade_off,) = found.trade_offs
    assert trade_off.leaders == leaders
    assert not trade_off.is_open


def test_ratios_are_tabled_at_each_setting_and_over_all(tmp_path: Path) -> None:
    """disk takes 0.25 and 0.36 of null: √(0.25 × 0.36) = 0.3."""

    def loads(run: Run) -> Load:
        n = len(run.workload.roles.client)
        share = {1: 0.25, 2: 0.36}[n] if run.treatment["sink"] == "disk" else 1.0
        return Load(400.0 * share)

    asked = "[{compare: sink, on: switch@server.port_in_mbps}]"
    result = concluding(tmp_path, asked, loads, clients="[1, 2]")
    table, *_ = conclusion_tables(result)
    assert str(table.caption) == "Incoming traffic of switch towards server: disk ÷ null"
    assert [str(row[3]) for row in table.rows] == ["0.250", "0.360", "0.300"]
