"""`make bench-peers`: what each program is asked, how it is read, and what is made of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from netstudy import wire
from netstudy.errors import TestbedError
from netstudy.plan_lines import RUN, read_plan
from tools.bench import agreement, dumbbell, scenarios
from tools.bench.programs import (
    NETSTUDY,
    NS2,
    NS3,
    PROGRAMS,
    Cell,
    Outcome,
    Program,
    cells,
    from_record,
    peer_outcome,
)
from tools.bench.speeds import json_line, measure, speed
from tools.bench.usage import Crash, Job

CELL = Cell(mtu=9000, servers=4)


def record(**changes: object) -> wire.RunRecord:
    fields: dict[str, object] = {
        "run": "0" * 12,
        "treatment": {"mtu": 9000},
        "replicate": 1,
        "seed": "0" * 16,
        "status": "ok",
        "samples": wire.Samples(
            iteration=wire.IterationSamples(
                completion_ns=(1_000_000, 3_000_000),
                dropped_packets=(1, 2),
                retransmissions=(1, 2),
                timeouts=(0, 1),
            ),
            connection=wire.ConnectionSamples(
                client=("client",),
                server=("server",),
                bytes_received=(2_000_000,),
                bytes_sent=(128,),
                busy_ns=(4_000_000,),
                retransmissions=(3,),
                timeouts=(1,),
            ),
        ),
    }
    return wire.RunRecord.model_validate(fields | changes)


def test_the_six_cells_of_the_scenario() -> None:
    assert cells() == [Cell(mtu, servers) for mtu in (9000, 1500) for servers in (4, 12, 23)]


def test_useful_packets_are_the_full_segments_of_all_blocks() -> None:
    # 4,000,000 / 8,948 = 447.03 and 4,000,000 / 1,448 = 2,762.4
    assert CELL.packets(10) == 4 * 10 * 448
    assert Cell(mtu=1500, servers=23).packets(1) == 23 * 2763


def test_a_fast_program_is_given_more_iterations_and_a_slow_one_at_least_one() -> None:
    assert NETSTUDY.iterations(CELL) > NS2.iterations(CELL) > NS3.iterations(CELL)
    assert scenarios.iterations_for(packets_per_iteration=1000, packets=10) == 1


def only_run(plan: str) -> dict[str, Any]:
    """The only run of a plan."""
    (run,) = read_plan(plan.encode().splitlines()).runs
    found: dict[str, Any] = RUN.dump_python(run, mode="json")
    return found


def test_all_programs_are_asked_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenarios, "find_engine", lambda: "netstudy-engine")
    run = only_run(NETSTUDY.job(CELL, 7, 3).text)

    assert run["phases"] == [{"kind": "measure", "until": {"kind": "count", "count": 7}}]
    assert run["network"]["links"][0]["mtu_bytes"] == 9000
    assert NS3.job(CELL, 7, 3).command[1:] == (
        "--servers=4",
        "--mtu=9000",
        "--iterations=7",
        "--seed=3",
    )
    assert NS2.job(CELL, 7, 3).command[2:] == ("4", "9000", "7", "3")


def test_another_seed_is_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenarios, "find_engine", lambda: "netstudy-engine")

    assert NETSTUDY.job(CELL, 1, 1) != NETSTUDY.job(CELL, 1, 2)


def test_goodput_of_a_record_is_all_bytes_by_all_time() -> None:
    # 2 MB in 1 ms + 3 ms is 16 Mbit in 4 ms
    assert from_record(record()) == Outcome(goodput_mbps=4000.0, drops=3, timeouts=1)


def test_a_run_that_failed_is_no_measurement() -> None:
    failed = wire.to_json(record(status="failed", error="it stood still"))

    with pytest.raises(TestbedError, match="it stood still"):
        scenarios.run_records(failed)


def test_a_peer_prints_one_object() -> None:
    printed = '{"goodput_mbps": 9641.776, "drops": 210, "timeouts": 0}\n'

    assert peer_outcome(printed) == Outcome(9641.776, 210, 0)


def test_a_speed_is_from_the_median_of_the_rounds() -> None:
    measured = speed(
        CELL, PROGRAMS, {"netstudy": [1.0, 9.0, 2.0], "ns-3": [2.0] * 3, "ns-2": [4.0] * 3}
    )

    packets = CELL.packets(NETSTUDY.iterations(CELL))
    assert measured.packets_per_s["netstudy"] == packets / 2.0
    assert measured.ratio(NS2) == pytest.approx(
        2 * packets / CELL.packets(NS2.iterations(CELL)),
    )


def test_a_round_that_a_peer_does_not_survive_is_left_out_by_name() -> None:
    works = (sys.executable, "-c", "sum(range(1_000_000))")

    def program(name: str, dies_with_seed: int | None = None) -> Program[Cell]:
        def job(_cell: Cell, _iterations: int, seed: int) -> Job:
            return Job(("sh", "-c", "kill -SEGV $$") if seed == dies_with_seed else works)

        return Program(name, 1, job, lambda _output: Outcome(1.0, 0, 0))

    both = (program("netstudy"), program("ns-3", dies_with_seed=2))

    assert measure(CELL, both, rounds=2).crashes == ["ns-3, seed 2: SIGSEGV"]
    with pytest.raises(Crash, match="ns-3, seed 1: SIGSEGV"):
        measure(CELL, (both[0], program("ns-3", dies_with_seed=1)), rounds=1)
    with pytest.raises(Crash, match="SIGSEGV"):
        measure(CELL, (program("netstudy", dies_with_seed=1),), rounds=1)


def test_the_last_line_names_every_cell() -> None:
    seconds = {program.name: [1.0] for program in PROGRAMS}

    (cell,) = json.loads(json_line([speed(CELL, PROGRAMS, seconds)], []))["cells"]

    assert list(cell) == ["mtu", "servers", "packets_per_s", "ratio_ns3", "ratio_ns2", "crashes"]
    assert (cell["mtu"], cell["servers"]) == (9000, 4)


def test_goodput_of_several_seeds_adds_their_times() -> None:
    # The same bytes at 1,000 and at 3,000 take 1 and 1/3: two blocks in 4/3
    pooled = agreement.goodput_mbps([Outcome(1000.0, 0, 0), Outcome(3000.0, 0, 0)])

    assert pooled == pytest.approx(1500.0)


def test_a_row_gives_each_quantity_for_each_program() -> None:
    seeds = [Outcome(1000.0, 20, 0), Outcome(1000.0, 40, 2)]
    outcomes = {program.name: seeds for program in PROGRAMS}
    row = agreement.row(agreement.Agreement(CELL, 20, outcomes))

    assert len(row) == len(agreement.headers())
    assert row == ["9000", "4", *["1,000"] * 3, *["1.5"] * 3, *["0.05"] * 3]


def test_a_table_for_each_number_of_iterations() -> None:
    outcomes = {program.name: [Outcome(1000.0, 20, 0)] for program in PROGRAMS}
    found = [agreement.Agreement(CELL, iterations, outcomes) for iterations in (1, 20)]

    first, later = agreement.markdown(found).split("\n\n20 iterations")

    assert first.startswith("One iteration from new connections")
    assert "| 20.0 | 20.0 | 20.0 |" in first
    assert "| 1.0 | 1.0 | 1.0 |" in later


def test_only_what_stands_between_the_markers_of_the_page_is_written(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    before = agreement.PAGE.read_text()
    page.write_text(before)
    outcomes = {program.name: [Outcome(1000.0, 20, 0)] for program in PROGRAMS}
    found = [agreement.Agreement(CELL, 1, outcomes)]

    agreement.write(found, page)

    head, _, rest = before.partition(agreement.BEGIN)
    tail = rest.partition(agreement.END)[2]
    part = f"{agreement.BEGIN}\n\n{agreement.markdown(found)}\n\n{agreement.END}"
    assert page.read_text() == head + part + tail


def test_all_programs_are_asked_for_the_same_dumbbell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenarios, "find_engine", lambda: "netstudy-engine")
    cell = dumbbell.Cell(mtu=1500)
    run = only_run(dumbbell.NETSTUDY.job(cell, 700, 3).text)

    assert cell.packets(700) == 4 * 700
    assert run["workload"]["size_bytes"] == 700 * 1448
    assert {link["mtu_bytes"] for link in run["network"]["links"]} == {1500}
    assert [node["name"] for node in run["network"]["nodes"] if node["kind"] == "switch"] == [
        "east",
        "west",
    ]
    assert dumbbell.NS3.job(cell, 700, 3).command[1:] == (
        "--pairs=4",
        "--mtu=1500",
        "--packets=700",
        "--seed=3",
    )
    assert dumbbell.NS2.job(cell, 700, 3).command[2:] == ("4", "1500", "700", "3")


def test_the_dumbbell_has_the_cells_of_its_study() -> None:
    assert dumbbell.cells() == [dumbbell.Cell(9000), dumbbell.Cell(1500)]
