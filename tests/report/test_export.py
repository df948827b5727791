"""One row a cell for other programs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.analysis.workloads.incast import COMPLETION
from netstudy.data.samples import samples_csv
from netstudy.report.export import to_csv, to_json, to_markdown
from tests.report.results import from_text, small_incast, study_text
from tests.report.synthetic import record

HEADER = (
    "switch,configuration,servers,completion_ms_mean,completion_ms_p50,completion_ms_p99,"
    "goodput_mbps,drops_per_iteration,retransmissions_per_iteration,timeouts_per_iteration"
)


def test_csv_has_the_agreed_columns_and_a_row_a_cell(found: StudyResult) -> None:
    lines = to_csv(found.cells).splitlines()
    assert lines[0].startswith(f"{HEADER},")
    assert len(lines) == 1 + 8
    assert lines[1].startswith("arista-7124s,4 MB,1,")
    assert lines[-1].startswith("nexus-5010,4 MB,9,")


def test_csv_has_the_metrics_of_nodes_that_were_measured_under_their_names(
    found: StudyResult,
) -> None:
    columns = to_csv(found.cells).splitlines()[0].removeprefix(f"{HEADER},").split(",")
    assert columns == ["client.goodput_mbps", "server.goodput_mbps", "switch@client.port_drops"]


def test_a_factor_called_like_a_column_has_another_head(tmp_path: Path) -> None:
    text = study_text(
        "factors: {goodput_mbps: [2, 4], replicate: [9000 B, 1500 B]}\nreplicates: 3\n",
        servers='"${goodput_mbps}"',
    ).replace("mtu: 9000 B", 'mtu: "${replicate}"')
    made = from_text(tmp_path, text)
    table = analyse(made).cells
    heads = to_csv(table).splitlines()[0].split(",")
    assert len(heads) == len(set(heads))
    assert heads[:2] == ["goodput_mbps_level", "replicate"]
    assert to_markdown(table).startswith("| goodput_mbps_level | replicate | ")
    samples = next(samples_csv(made, "iteration")).strip().split(",")
    assert len(samples) == len(set(samples))
    assert samples[:4] == ["run", "goodput_mbps", "replicate_level", "replicate"]


def test_csv_carries_every_digit(found: StudyResult) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(found.cells))))
    for row, cell in zip(rows, found.cells.rows, strict=True):
        assert float(row["completion_ms_mean"]) == cell.value(COMPLETION)


def test_what_was_not_measured_is_an_empty_field_and_null(tmp_path: Path) -> None:
    made = small_incast(tmp_path, lambda p: None if p.treatment["servers"] == 5 else record(p))
    table = analyse(made).cells
    row = list(csv.DictReader(io.StringIO(to_csv(table))))[2]
    assert row["servers"] == "5"
    assert row["completion_ms_mean"] == row["drops_per_iteration"] == ""
    cell = json.loads(to_json(table))["cells"][2]
    assert cell["metrics"]["completion_ms_mean"] is None
    assert [problem["kind"] for problem in cell["problems"]] == ["missing"] * 5


def test_json_holds_values_with_unit_and_interval(found: StudyResult) -> None:
    data = json.loads(to_json(found.cells))
    assert data["factors"]["servers"] == [1, 2, 5, 9]
    metric = data["cells"][-1]["metrics"]["completion_ms_mean"]
    low, high = metric["interval"]
    assert low < metric["value"] < high
    assert (metric["unit"], metric["interval_over"]) == ("ms", "run")
    assert data["cells"][-1]["runs"] == 5


def test_markdown_rounds_for_reading(found: StudyResult) -> None:
    lines = to_markdown(found.cells).splitlines()
    assert lines[0].startswith("| switch | configuration | servers | completion_ms_mean |")
    assert len(lines) == 2 + 8


def test_cells_of_several_cases_say_which_use_them(tmp_path: Path) -> None:
    cases = """
cases:
  few servers: {factors: {servers: [1, 2]}, fixed: {switch: nexus-5010}}
  many: {factors: {servers: [2, 8], switch: [arista-7124s, nexus-5010]}}
"""
    text = study_text(cases, switch='"${switch}"', servers='"${servers}"')
    cells = analyse(from_text(tmp_path, text)).cells
    rows = list(csv.DictReader(io.StringIO(to_csv(cells))))
    by_cell = {(row["switch"], row["servers"]): row["cases"] for row in rows}
    assert by_cell["nexus-5010", "2"] == "few servers; many"
    assert by_cell["arista-7124s", "8"] == "many"
    assert len(rows) == 5
    head, _, *lines = to_markdown(cells).splitlines()
    assert head.startswith("| cases | servers | switch | ")
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == [
        row["cases"] for row in rows
    ]
