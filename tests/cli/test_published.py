"""`--testbed published`: tables, verdicts and findings out of published data alone."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.analysis.workloads.incast import COMPLETION
from netstudy.plan_lines import RUN, read_plan
from netstudy.report.answer import answer
from netstudy.store import Folder
from netstudy.wire import MeasuredRun, RunRecord
from tests.cli.conftest import CHECKOUT, INCAST, Netstudy, Outcome

STUDIES = CHECKOUT / "studies"
ONE_CELL = """\
study: one
question: How long does it take?
factors:
  size: [1 MB, 1 GB]
  rate: [1 Gbit/s, 10 Gbit/s]
topology:
  hosts: {left: {profile: host-10g}, right: {profile: host-10g}}
  links: [{between: [left, right], rate: "${rate}"}]
workload:
  transfer: {clients: left, servers: right, size: "${size}", protocol: ftp}
"""


FIRST = "configuration=4 MB"


def measured_of(record: RunRecord) -> MeasuredRun:
    assert record.measured is not None
    return record.measured


@pytest.fixture
def published(netstudy: Netstudy, here: Path) -> Folder:
    """The incast study's first configuration out of its published data."""
    outcome = netstudy("run", INCAST, "--testbed", "published", "--only", FIRST)
    assert outcome.code == 0, outcome.err
    folder = Folder.at(here / "results" / "incast" / "latest")
    assert folder is not None
    return folder


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def written(folder: Path, reference: str, *lines: str) -> Path:
    """A study of published data."""
    (folder / "study.yaml").write_text(ONE_CELL + reference)
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    return folder


def run_without(netstudy: Netstudy, study: str, *parts: str) -> Outcome:
    """A study of published data without the parts that this version does not show."""
    options = [option for part in parts for option in ("--without", part)]
    return netstudy("run", STUDIES / study, "--testbed", "published", *options)


def test_every_published_value_is_exported_under_the_name_of_its_metric(
    published: Folder, netstudy: Netstudy
) -> None:
    outcome = netstudy("export", published.path, "--csv")
    found = {(row["switch"], row["servers"]): row for row in rows(outcome.out)}
    source = rows((INCAST / "reference" / "incast_4mb_mtu9000.csv").read_text())
    assert len(found) == 2 * len(source) == 46
    for row in source:
        for switch, column in (("arista-7124s", "arista_7124s"), ("nexus-5010", "nexus_5010")):
            cell = found[switch, row["servers"]]
            assert float(cell["goodput_mbps"]) == float(row[f"goodput_mbps_{column}"])
            assert float(cell["completion_ms_mean"]) == float(row[f"completion_ms_{column}"])
            assert float(cell["drops_per_iteration"]) == float(row[f"dropped_packets_{column}"])


def test_the_verdict_follows_from_noise_and_rounding(published: Folder) -> None:
    result: StudyResult = analyse(published)
    (case,) = result.cases
    (table,) = (v for v in case.panels[0].verdicts if v.metric.name == COMPLETION.name)
    outcomes = {row.x: (row.outcome, row.winner) for row in table.rows}
    assert outcomes[1] == ("undecided", None)  # 3.5 and 3.5 ms: a digit is 2.9 % of them
    assert outcomes[4] == ("different", "arista-7124s")
    assert outcomes[5] == ("different", "nexus-5010")
    assert [(c.after, c.before) for c in table.crossovers] == [(4, 5)]
    said = " ".join(map(str, answer(result)))
    assert "on nexus-5010 than on arista-7124s at 5 to 23\u00a0servers" in said
    assert "4.10 times shorter" in said


def test_the_report_says_whose_values_they_are_and_nothing_of_simulated_hosts(
    published: Folder,
) -> None:
    page = (published.path / "report.md").read_text()
    assert "Published values, from Principled Technologies" in page
    assert "46 of 46 cells have one published value: its rounding is known" in page
    for word in ("simulated", "Test bed and workload", "Hardware profiles", "warm-up", "ucs-c200"):
        assert word not in page
    assert not (published.path / "figures" / "testbed.svg").exists()
    assert (published.path / "figures" / "completion.svg").exists()


def test_plan_and_records_are_made_of_the_data_alone(
    published: Folder, netstudy: Netstudy, here: Path
) -> None:
    plan = (published.path / "plan.jsonl").read_bytes()
    printed = netstudy("plan", INCAST, "--testbed", "published", "--only", FIRST, "--json").out
    assert plan == printed.encode()
    first: dict[str, Any] = RUN.dump_python(read_plan(plan.splitlines()).runs[0], mode="json")
    assert first["network"] == {"groups": [], "nodes": [], "links": [], "shared_clock": False}
    assert first["workload"]["kind"] == "measured"
    assert first["workload"]["given"][0]["row"] == "reference/incast_4mb_mtu9000.csv:2"
    record = next(one for one in published.records() if one.run == first["id"])
    assert record.status == "ok"
    assert measured_of(record).values == {
        "goodput_mbps": 9044.0,
        "drops_per_iteration": 0.0,
        "retransmissions_per_iteration": 0.0,
        "completion_ms_mean": 3.5,
    }
    assert set(measured_of(record).rounding.values()) == {0.1}
    assert netstudy("run", "--resume", here / "results" / "incast" / "latest").code == 0


@pytest.mark.engine
def test_the_published_data_stand_beside_runs_of_the_simulator(
    published: Folder, netstudy: Netstudy, here: Path
) -> None:
    quick = ("--quick", "--only", "servers=1,2", "--set", "workload.incast.iterations=20")
    levels = (*quick, "--only", FIRST)
    assert netstudy("run", INCAST, *levels, "--results", here / "simulated").code == 0
    outcome = netstudy("compare", published.path, here / "simulated" / "incast" / "latest")
    assert outcome.code == 0, outcome.err
    assert "Settings that differ between" not in outcome.out  # nothing is known of one
    for sides in (("A", "B"), ("B", "A")):
        folders = {"A": published.path, "B": here / "simulated" / "incast" / "latest"}
        found = netstudy("compare", *(folders[side] for side in sides), "--json")
        cells = json.loads(found.out)["cells"]
        assert len(cells) == 4
        for cell in cells:
            both = cell["metrics"]["completion_ms_mean"]
            assert both["a"]["value"], cell
            assert both["b"]["value"], cell


@pytest.mark.usefixtures("engine")
def test_published_transfers_stand_beside_simulated_ones(netstudy: Netstudy, here: Path) -> None:
    """Of two folders, each is read by its own metrics: published values are no samples."""
    reference = (
        "reference: {file: data.csv, source: me, at: {rate: 1 Gbit/s}, factors: {size: size}, "
        "columns: {s: {metric: transfer_s}, cpu: {metric: left.cpu_pct}}}\n"
    )
    folder = written(here, reference, "size,s,cpu", "1 MB,0.01,3")
    text = (folder / "study.yaml").read_text().replace(", protocol: ftp", ", repeats: 3")
    (folder / "study.yaml").write_text(text)
    assert netstudy("run", folder, "--testbed", "published", "--results", "published").code == 0
    assert netstudy("run", folder, "--only", "size=1 MB").code == 0
    folders = {"published": "published/one/latest", "sim": "results/one/latest"}
    for sides in (("published", "sim"), ("sim", "published")):
        outcome = netstudy("compare", *(folders[side] for side in sides), "--json")
        assert outcome.code == 0, outcome.err
        found = json.loads(outcome.out)
        (cell,) = found["cells"]
        seconds = cell["metrics"]["transfer_s_mean"]
        of = dict(zip(sides, ("a", "b"), strict=True))
        assert seconds[of["published"]]["value"] == 0.01
        assert 0.005 < seconds[of["sim"]]["value"] < 0.1
        assert cell["metrics"]["goodput_mbps"][of["published"]] is None
        assert [one["rate"] for one in found[f"only_{of['sim']}"]] == ["10 Gbit/s"]
    assert netstudy("compare", *folders.values(), "--band", "goodput_mbps=5 %").code == 1


def test_a_short_form_and_a_choice_of_levels_leave_rows_out(netstudy: Netstudy, here: Path) -> None:
    options = ("--testbed", "published", "--quick", "--only", "switch=nexus-5010", "--only", FIRST)
    assert netstudy("run", INCAST, *options).code == 0
    found = rows((here / "results" / "incast" / "latest" / "cells.csv").read_text())
    assert [row["servers"] for row in found] == ["1", "2", "3", "4", "8", "16", "23"]


def test_repetitions_are_replicates(netstudy: Netstudy, here: Path) -> None:
    """Files by FTP from RAM disk to RAM disk: no other testbed carries that out yet."""
    parts = ("conclude.compare", "conclude.first repetition")
    assert run_without(netstudy, "zones", *parts).code == 0
    folder = Folder.at(here / "results" / "zones" / "latest")
    assert folder is not None
    (cell,) = (
        cell
        for cell in analyse(folder).cells.rows
        if (cell.treatment["path"], cell.treatment["size"]) == ("same interface", "1 GB")
    )
    assert [measured_of(run.record).values["transfer_s"] for run in cell.runs] == [6.7, 5.0, 4.9]
    (metric,) = analyse(folder).cells.metrics
    estimate = cell.estimate(metric)
    assert estimate is not None
    assert (round(estimate.value, 3), estimate.n, estimate.unit) == (5.533, 3, "run")
    assert estimate.interval is not None


def test_a_workload_that_is_not_carried_out_yet_has_its_published_tables(
    netstudy: Netstudy, here: Path
) -> None:
    """One treatment stands in two tables, each with a base row of its own for its rates."""
    outcome = run_without(netstudy, "trade")
    assert outcome.code == 0, outcome.err
    found = rows((here / "results" / "trade" / "latest" / "cells.csv").read_text())
    shared = {
        row["cases"]: (row["app.cpu_pct"], row["etr_pct"])
        for row in found
        if (row["disk"], row["users"], row["buffers"], row["cpus"]) == ("F20", "60", "16", "8")
    }
    assert shared == {"disk": ("91.61", "111.0"), "buffers": ("91.61", "97.5")}
    assert re.search(r"128 +8 +92\.54 +60 +18 +100\.0 +4 +78\.56", outcome.out)
    assert netstudy("report", here / "results" / "trade" / "latest").code == 0


def test_what_the_data_do_not_give_is_refused_by_its_path(netstudy: Netstudy, here: Path) -> None:
    study = shutil.copytree(STUDIES / "ethernet", here / "ethernet") / "study.yaml"
    own, variant = study.read_text().split("\n  published:\n")
    assert "without:" in variant
    study.write_text(own + "\n")
    outcome = netstudy("run", study.parent, "--testbed", "published")
    assert outcome.code == 2
    for said in (
        "compare.on asks for response_ms_mean, which the published data do not give;",
        "figures[0] is a time series, and published values are no samples;",
        "conclude.limit asks for response_ms_mean, which the published data do not give;",
    ):
        assert said in outcome.err
    assert not (here / "results").exists()
    standard = ("--set", "report.figures=[completion, completion_p99]")
    outcome = netstudy("run", INCAST, "--testbed", "published", *standard)
    assert outcome.code == 2
    assert "report.figures[1] is completion_p99, which the published data" in outcome.err


def test_the_plan_says_what_is_covered_and_which_names_were_mapped(netstudy: Netstudy) -> None:
    outcome = netstudy("plan", STUDIES / "gigabit", "--testbed", "published")
    assert outcome.code == 0, outcome.err
    assert "clients: 1, 2, 4, 5" in outcome.out  # of a factor that grows without end
    outcome = netstudy("plan", STUDIES / "zones", "--testbed", "published")
    assert "level    size: 1MB is 1 MB" in outcome.out
    assert "27: 9 cells, 3 replicates of each" in outcome.out
    outcome = netstudy("plan", STUDIES / "ethernet", "--testbed", "published")
    assert "2 cells of the study have no published value in this run." in outcome.out


@pytest.mark.parametrize(
    "option",
    [("--scale", "1/10"), ("--set", "workload.incast.iterations=5"), ("--set", "replicates=2")],
)
def test_options_that_say_how_runs_are_made_are_refused(
    option: tuple[str, str], netstudy: Netstudy, here: Path
) -> None:
    outcome = netstudy("run", INCAST, "--testbed", "published", *option)
    assert outcome.code == 2
    assert "changes how runs are made, but --testbed published makes none" in outcome.err
    assert not (here / "results").exists()


def test_a_study_without_reference_data_has_nothing_published(
    netstudy: Netstudy, study: Path
) -> None:
    outcome = netstudy("run", study, "--testbed", "published")
    assert outcome.code == 2
    assert "no reference data" in outcome.err


def test_data_that_leave_a_level_open_are_refused_with_their_line(
    netstudy: Netstudy, here: Path
) -> None:
    reference = (
        "reference: {file: data.csv, source: me, factors: {size: size}, "
        "columns: {s: {metric: transfer_s}}}\n"
    )
    folder = written(here, reference, "size,s", "1 MB,1")
    outcome = netstudy("run", folder, "--testbed", "published")
    assert outcome.code == 2
    assert "data.csv:2: does not say at which level of rate it was measured" in outcome.err


def test_two_files_that_give_one_value_are_refused_by_validate(
    netstudy: Netstudy, here: Path
) -> None:
    part = (
        "{file: data.csv, source: me, at: {rate: 1 Gbit/s}, factors: {size: size}, "
        "columns: {s: {metric: transfer_s}}}"
    )
    folder = written(here, f"reference: [{part}, {part}]\n", "size,s", "1 MB,1")
    outcome = netstudy("validate", folder)
    assert outcome.code == 2
    said = "data.csv:2: gives transfer_s at rate 1 Gbit/s, size 1 MB, as data.csv:2 does; leave one"
    assert said in outcome.err
