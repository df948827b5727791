"""Folders of version 1 say today what they said then.

`version1/incast` was made by the last release of version 1, with its own export beside it:
`cells.csv` in the folder and `cells.json` next to it are that release's words.
"""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from netstudy.analysis.cells import cell_table
from netstudy.analysis.comparison import comparison
from netstudy.analysis.study_result import analyse
from netstudy.analysis.workloads.incast import COMPLETION
from netstudy.report.export import to_csv, to_json
from netstudy.report.pages import write_report
from netstudy.store import Folder
from netstudy.store.version1 import lifted_record
from netstudy.study.agreement import Bands
from netstudy.wire import Host, Incast, Run, UntilCount

OLD = Path(__file__).with_name("version1")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(shutil.copytree(OLD / "incast", tmp_path / "incast"))


NOT_CARRIED = "completion_ms_p99"
"""Version 1 interpolated it from 40 iterations; it takes 299 (docs/decisions/0039)."""


WITHOUT_INTERVAL = ("completion_ms_p50", "timeout_iterations_pct")
"""Version 1 gave percentiles none, and shares of 0 and 100 % one without width."""


def test_the_export_is_what_it_was_but_for_percentiles_of_too_few_and_impossible_intervals(
    folder: Folder,
) -> None:
    table = cell_table(folder)
    then = list(csv.DictReader((OLD / "incast" / "cells.csv").read_text().splitlines()))
    now = list(csv.DictReader(to_csv(table).splitlines()))
    assert {row.pop(NOT_CARRIED) for row in now} == {""}
    assert all(row.pop(NOT_CARRIED) for row in then)
    assert now == then
    as_then, as_now = json.loads((OLD / "cells.json").read_text()), json.loads(to_json(table))
    for cell in (*as_then["cells"], *as_now["cells"]):
        cell["metrics"].pop(NOT_CARRIED)
        for name in WITHOUT_INTERVAL:
            for key in ("interval", "interval_over"):
                del cell["metrics"][name][key]
    # numpy's sums differ in the last digit from one CPU's vector width to another's.
    then_flat, now_flat = _flat(as_then), _flat(as_now)
    assert now_flat.keys() == then_flat.keys()
    for place, value in then_flat.items():
        if isinstance(value, float):
            if place.endswith("/interval[0]"):  # nothing in it is below zero but these ends
                value = max(0.0, value)
            if place.endswith("/fairness_index/interval[1]"):
                value = min(1.0, value)
            assert now_flat[place] == pytest.approx(value, rel=1e-13, abs=0), place
        else:
            assert now_flat[place] == value, place


def _flat(value: object, place: str = "") -> dict[str, object]:
    """Every leaf of a JSON value by its place."""
    if isinstance(value, dict):
        parts = [_flat(each, f"{place}/{name}") for name, each in value.items()]
    elif isinstance(value, list):
        parts = [_flat(each, f"{place}[{number}]") for number, each in enumerate(value)]
    else:
        return {place: value}
    return {name: leaf for part in parts for name, leaf in part.items()}


def test_nothing_in_it_counts_as_changed(folder: Folder) -> None:
    assert folder.is_done()
    assert folder.changed_since_sealed() == []
    assert folder.missing() == []


def test_a_report_of_it_is_written(folder: Folder) -> None:
    result = analyse(folder)
    written = write_report(folder, result)
    assert "One iteration." in written.html.read_text()
    value = result.cells.rows[0].value(COMPLETION)
    assert f"{value:.1f} |" in written.md.read_text()


def test_it_may_be_compared_with_itself(folder: Folder) -> None:
    table = cell_table(folder)
    found = comparison(table, table, Bands({}, None))
    assert len(found.pairs) == len(table.rows) == 4
    assert {one.value for pair in found.pairs for one in pair.differences if one.a} == {0}
    assert found.settings == ()


def test_groups_become_hosts_and_counts_become_phases(folder: Folder) -> None:
    run = next(run for run in folder.plan().runs if run.treatment["servers"] == 2)
    assert isinstance(run.workload, Incast)
    assert run.workload.roles.client == ("client",)
    assert run.workload.roles.server == ("server-1", "server-2")
    assert [node.name for node in run.network.nodes] == ["client", "server-1", "server-2", "switch"]
    assert {link.b.node for link in run.network.links} == {"switch"}
    assert [phase.until for phase in run.phases] == [UntilCount(count=10), UntilCount(count=20)]
    hosts = [node for node in run.network.nodes if isinstance(node, Host)]
    assert {host.group for host in hosts} == {group.name for group in run.network.groups}


def test_growth_becomes_readings_at_the_edges(folder: Folder) -> None:
    record = folder.records()[0]
    assert [edge.name for edge in record.edges] == ["measure-start", "measure-end"]
    client = record.ports["switch"]["client"]
    assert record.growth(client)["frames_forwarded"] == client["frames_forwarded"][1]
    assert set(record.counters) == {"client", "server"}
    assert {node.clock for node in record.nodes.values()} == {"simulation"}
    assert folder.series(record.run) == ()


def old_record(run: Run, **changed: object) -> bytes:
    text = (OLD / "incast" / "runs" / f"{run.id}.json").read_bytes()
    return json.dumps({**json.loads(text), **changed}).encode()


def test_a_record_from_before_connections_were_told_apart_keeps_its_bytes(folder: Folder) -> None:
    run = folder.plan().runs[0]
    whole = lifted_record(old_record(run), run)
    old = lifted_record(old_record(run, connections=None), run)
    assert old.bytes_received == whole.bytes_received
    assert old.samples.connection is not None
    assert old.samples.connection.server == ("server",)
    assert old.samples.connection.busy_ns == (0,)


def test_a_failed_record_stays_one(folder: Folder) -> None:
    run = folder.plan().runs[0]
    gone = dict.fromkeys(("measure", "bytes_received", "iterations", "connections"))
    failed = lifted_record(
        old_record(run, status="failed", error="no memory", counters={}, **gone), run
    )
    assert (failed.status, failed.error, failed.measure) == ("failed", "no memory", None)
    assert failed.bytes_received is None
    assert failed.edges == ()
