"""Tables come out as a study says: rows, columns, heads, replicates, base rows, digits, reasons."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.analysis.workloads.incast import COMPLETION, GOODPUT
from netstudy.errors import StudyError
from netstudy.report.asked_tables import asked_tables
from netstudy.report.conclusions import concluded_points
from netstudy.report.document import document
from netstudy.report.markdown import pipe_table
from netstudy.report.numbers import MARGIN
from netstudy.report.pages import render_html, render_markdown
from netstudy.report.plaintext import text_table
from netstudy.report.refs import Number
from netstudy.report.tables import Table
from netstudy.report.terminal import print_summary
from netstudy.store import Folder
from netstudy.wire import HARDWARE_COUNTERS
from tests.report import workloads
from tests.report.caveats import caveat_sentences
from tests.report.results import from_text, results, study_text
from tests.report.test_asked_figures import CONFORMANCE

DESIGN = """\
factors: {switch: [nexus-5010, arista-7124s], servers: [2, 4]}
replicates: 3
"""


def results_of(folder: Path, asked: str, design: str = DESIGN) -> tuple[Folder, StudyResult]:
    text = study_text(f"{design}tables: [{asked}]\n", switch='"${switch}"', servers='"${servers}"')
    made = from_text(folder, text)
    return made, analyse(made)


def tables(folder: Path, asked: str, design: str = DESIGN) -> list[Table]:
    _, result = results_of(folder, asked, design)
    (case,) = result.cases
    return asked_tables(result, case, "t")


def cells(table: Table) -> list[list[str]]:
    return [["" if value is None else str(value) for value in row] for row in table.rows]


def heads(table: Table) -> list[tuple[str, tuple[str, ...]]]:
    return [(group.heading, group.columns) for group in table.groups]


def value(result: StudyResult, switch: str, servers: int) -> float:
    row = next(
        cell
        for cell in result.cells.rows
        if (cell.treatment["switch"], cell.treatment["servers"]) == (switch, servers)
    )
    found = row.value(COMPLETION)
    assert found is not None
    return found


def test_columns_of_a_factor_hold_the_cell_metrics_each_under_its_own_head(tmp_path: Path) -> None:
    asked = "{rows: servers, columns: switch, cell: [completion_ms_mean, goodput_mbps]}"
    (table,) = tables(tmp_path, asked)
    switches = ("nexus-5010", "arista-7124s")
    assert heads(table) == [
        ("servers", ()),
        (COMPLETION.title, switches),
        (GOODPUT.title, switches),
    ]
    assert [row[0] for row in cells(table)] == ["2", "4"]


def test_rows_and_columns_may_be_swapped(tmp_path: Path) -> None:
    _, result = results_of(tmp_path, "{rows: switch, columns: servers, cell: completion_ms_mean}")
    (table,) = asked_tables(result, result.cases[0], "t")
    assert [row[0] for row in cells(table)] == ["nexus-5010", "arista-7124s"]
    assert table.groups[1].columns == ("2 servers", "4 servers")
    for row, switch in zip(table.rows, ("nexus-5010", "arista-7124s"), strict=True):
        for shown, servers in zip(row[1:], (2, 4), strict=True):
            assert isinstance(shown, Number)
            assert shown.value == value(result, switch, servers)


def test_several_row_factors_make_a_row_a_combination_the_first_one_outermost(
    tmp_path: Path,
) -> None:
    (table,) = tables(tmp_path, "{rows: [servers, switch], columns: completion_ms_mean}")
    assert [row[:2] for row in cells(table)] == [
        ["2", "nexus-5010"],
        ["2", "arista-7124s"],
        ["4", "nexus-5010"],
        ["4", "arista-7124s"],
    ]


def test_a_factor_that_is_nowhere_makes_a_table_for_each_of_its_levels(tmp_path: Path) -> None:
    both = tables(tmp_path, "{title: Time, rows: servers, columns: completion_ms_mean}")
    assert [str(table.caption) for table in both] == [
        "Time (switch nexus-5010)",
        "Time (switch arista-7124s)",
    ]
    assert [table.id for table in both] == ["t-table-1", "t-table-2"]


def test_every_replicate_is_a_row_of_its_own(tmp_path: Path) -> None:
    _, result = results_of(
        tmp_path,
        "{rows: servers, columns: switch, cell: completion_ms_mean, show: every replicate}",
    )
    (table,) = asked_tables(result, result.cases[0], "t")
    assert [row[:2] for row in cells(table)] == [
        [servers, str(replicate)] for servers in ("2", "4") for replicate in (1, 2, 3)
    ]
    cell = result.cells.rows[0]
    (run,) = (run for run in cell.runs if run.replicate == 2)
    shown = table.rows[1][2]
    assert isinstance(shown, Number)
    assert shown.value == COMPLETION.reading.of_run(run)


def test_a_column_in_percent_of_the_first_row_of_a_named_row_or_of_another_column(
    tmp_path: Path,
) -> None:
    asked = """{rows: [switch, servers], columns: [completion_ms_mean, completion_ms_p50],
      normalise: {completion_ms_mean: first row,
        completion_ms_p50: {by: completion_ms_mean, row: {switch: arista-7124s, servers: 4}}}}"""
    _, result = results_of(tmp_path, asked)
    (table,) = asked_tables(result, result.cases[0], "t")
    first, by = value(result, "nexus-5010", 2), value(result, "arista-7124s", 4)
    assert [group.unit for group in table.groups] == ["", "", "%", "%"]
    for row in table.rows:
        switch, servers, mean, median = row
        assert isinstance(mean, Number)
        assert isinstance(median, Number)
        own = value(result, str(switch), int(str(servers)))
        assert mean.value == pytest.approx(100 * own / first)
        assert "in % of completion_ms_mean, switch=arista-7124s, servers=4" in median.source
    assert str(table.rows[0][2]) == "100.0"
    assert by > 0


def test_the_base_of_100_percent_is_told_in_every_form_of_the_report(tmp_path: Path) -> None:
    made, result = results_of(
        tmp_path,
        "{rows: [switch, servers], columns: completion_ms, normalise: {completion_ms: first row}}",
    )
    told = "100 % is completion time, first row"
    under = f"Completion time: {told}."
    doc = document(made, result)
    assert told in render_html(doc).replace("\u00a0", " ")
    assert under in render_markdown(doc).splitlines()
    console = Console(file=io.StringIO(), width=100)
    print_summary(result, console)
    assert isinstance(console.file, io.StringIO)
    assert under in console.file.getvalue().splitlines()


def test_a_base_of_zero_has_no_percentages_and_says_so(tmp_path: Path) -> None:
    """Drops are made up for more servers than one."""
    (table,) = tables(
        tmp_path,
        "{rows: [switch, servers], columns: drops_per_iteration,"
        " normalise: {drops_per_iteration: first row}}",
        DESIGN.replace("[2, 4]", "[1, 4]"),
    )
    assert {row[2] for row in cells(table)} == {"–¹"}
    assert table.notes == ("¹ the base of 100 % is zero",)


def test_a_normalised_pivot_has_a_base_in_each_column(tmp_path: Path) -> None:
    asked = """{rows: servers, columns: switch, cell: completion_ms_mean,
      normalise: {completion_ms_mean: first row}}"""
    (table,) = tables(tmp_path, asked)
    assert [str(shown) for shown in table.rows[0][1:]] == ["100.0", "100.0"]


def test_heads_stand_above_their_columns_and_columns_have_the_studys_titles(
    tmp_path: Path,
) -> None:
    asked = """{rows: [switch, servers], columns: [completion_ms_mean, completion_ms_p99,
      goodput_mbps], heads: {Time: [completion_ms_mean, completion_ms_p99]},
      titles: {completion_ms_mean: mean, servers: number}}"""
    (table,) = tables(tmp_path, asked)
    assert heads(table) == [
        ("switch", ()),
        ("number", ()),
        ("Time", ("mean (ms)", "99th percentile of the completion time (ms)")),
        (GOODPUT.title, ()),
    ]


def test_digits_are_the_studys(tmp_path: Path) -> None:
    asked = """{rows: [switch, servers], columns: [completion_ms_mean, goodput_mbps],
      decimals: {completion_ms_mean: 4}, significant: {goodput_mbps: 2}}"""
    (table,) = tables(tmp_path, asked)
    for row in cells(table):
        time, margin = row[2].split(MARGIN)
        assert len(time.partition(".")[2]) == len(margin.partition(".")[2]) == 4
        goodput = row[3].split(MARGIN)[0]
        assert len(goodput.replace(",", "").rstrip("0").replace(".", "").lstrip("0")) <= 2


HOLED = DESIGN + ("holes: [{switch: arista-7124s, servers: 4, because: the switch was gone}]\n")


def test_a_hole_with_a_reason_stands_in_the_table_and_the_reason_under_it(tmp_path: Path) -> None:
    (table,) = tables(tmp_path, "{rows: [switch, servers], columns: goodput_mbps}", HOLED)
    assert cells(table)[-1] == ["arista-7124s", "4", "–¹"]
    assert table.notes == ("¹ the switch was gone",)


def test_a_machine_without_hardware_counters_says_why_a_cell_is_empty(tmp_path: Path) -> None:
    asked = "{rows: [switch, servers], columns: [server.cycles_per_instruction, goodput_mbps]}"
    _, result = results_of(tmp_path, asked)
    for cell in result.cells.of_case(result.cases[0].name):
        for run in cell.runs:
            run.record.environment[HARDWARE_COUNTERS] = "there are none"
    (table,) = asked_tables(result, result.cases[0], "t")
    assert {row[2] for row in cells(table)} == {"–¹"}
    assert table.notes == ("¹ there are none",)


def test_a_hole_has_no_level_of_a_factor_that_grows(tmp_path: Path) -> None:
    """No run found that level: the dash has the reason of the hole."""
    text = study_text(
        "factors: {switch: [nexus-5010, arista-7124s], block: [1 MB, 4 MB],"
        " servers: {grow: [2, 4], until: no gain}}\nreplicates: 3\nnoise: 2 %\n"
        "holes: [{switch: arista-7124s, block: 4 MB, because: not sold}]\n"
        "tables: [{rows: [switch, block], columns: [servers, goodput_mbps]}]\n",
        switch='"${switch}"',
        servers='"${servers}"',
        block='"${block}"',
    )
    result = analyse(from_text(tmp_path, text))
    (table,) = asked_tables(result, result.cases[0], "t")
    assert [row[2] for row in cells(table)[:3]] == ["2", "2", "2"]
    assert cells(table)[3] == ["arista-7124s", "4 MB", "–¹", "–¹"]
    assert table.notes == ("¹ not sold",)


def test_a_hole_without_a_reason_has_no_row(tmp_path: Path) -> None:
    design = HOLED.replace(", because: the switch was gone", "")
    (table,) = tables(tmp_path, "{rows: [switch, servers], columns: goodput_mbps}", design)
    assert len(table.rows) == 3
    assert table.notes == ()


def test_a_tables_own_reason_stands_before_that_of_the_hole(tmp_path: Path) -> None:
    asked = (
        "{rows: [switch, servers], columns: goodput_mbps,"
        " empty: [{because: see the text, at: {switch: arista-7124s, servers: 4}}]}"
    )
    (table,) = tables(tmp_path, asked, HOLED)
    assert table.notes == ("¹ see the text",)


def test_a_hole_of_a_level_that_was_not_asked_for_has_no_row(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    asked = "tables: [{rows: [switch, servers], columns: goodput_mbps}]\n"
    path.write_text(study_text(HOLED + asked, switch='"${switch}"', servers='"${servers}"'))
    result = analyse(results(tmp_path, path, only=["switch=nexus-5010"]))
    (table,) = asked_tables(result, result.cases[0], "t")
    assert [row[:2] for row in cells(table)] == [["nexus-5010", "2"], ["nexus-5010", "4"]]


def test_an_empty_cell_has_the_reason_that_the_study_gives_and_a_measured_one_its_value(
    tmp_path: Path,
) -> None:
    asked = """{rows: [switch, servers], columns: [server.cpu_pct, goodput_mbps],
      empty: [{column: server.cpu_pct, because: nobody looked},
              {at: {servers: 2}, because: late}]}"""
    made, result = results_of(tmp_path, asked)
    (table,) = asked_tables(result, result.cases[0], "t")
    assert {row[2] for row in cells(table)} == {"–¹"}
    assert all(isinstance(row[3], Number) for row in table.rows)
    assert table.notes == ("¹ nobody looked",)
    assert "¹ nobody looked" in render_html(document(made, result))


def test_every_reason_has_a_mark_of_its_own_however_many_there_are(tmp_path: Path) -> None:
    columns = ["cpu_pct", "disk_mb_per_s", "swap_pages_per_s"]
    nodes = ["server", "client", "server-1", "server-2"]
    metrics = [f"{node}.{column}" for node in nodes for column in columns]
    reasons = ", ".join(f"{{column: {one}, because: no {one}}}" for one in metrics)
    asked = f"{{rows: switch, columns: [{', '.join(metrics)}], empty: [{reasons}]}}"
    (table, *_) = tables(tmp_path, asked)
    marks = [str(note).split()[0] for note in table.notes]
    assert marks == ["¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹", "¹⁰", "¹¹", "¹²"]
    assert all(f"–{mark}" in row for row in cells(table) for mark in marks)


@pytest.mark.parametrize("render", [pipe_table, lambda table: text_table(table, 100)])
def test_they_are_rendered_as_any_other(render, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (table,) = tables(tmp_path, "{rows: switch, columns: servers, cell: completion_ms_mean}")
    assert "arista-7124s" in render(table)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("{rows: servers, columns: [switch, goodput_mbps], cell: completion_ms_mean}",
         "columns.1: is a metric next to columns that are factors; put it into cell"),
        ("{rows: servers, columns: switch}", "cell must name the metric to show in them"),
        ("{rows: servers, columns: [servers, goodput_mbps]}", "is also in rows"),
        ("{rows: servers, columns: goodput_mbps, normalise: {completion_ms: first row}}",
         "normalise.completion_ms: is not a metric of this table"),
        ("{rows: servers, columns: goodput_mbps, normalise: {goodput_mbps: last row}}",
         'must be "first row" or the levels of a row'),
        ("{rows: servers, columns: goodput_mbps, normalise: {goodput_mbps: {row: {servers: 9}}}}",
         'no level "9"'),
        ("{rows: servers, columns: goodput_mbps, normalise: "
         "{goodput_mbps: {row: {switch: nexus-5010}}}}", "is not in rows"),
        ("{rows: servers, columns: [goodput_mbps, drops_per_iteration, completion_ms], "
         "heads: {a: [goodput_mbps, completion_ms]}}", "must be next to each other"),
        ("{rows: servers, columns: goodput_mbps, heads: {a: goodput}}",
         '"goodput" is not a column'),
        ("{rows: servers, columns: goodput_mbps, decimals: {goodput_mbps: 1}, "
         "significant: {goodput_mbps: 1}}", "also has decimals"),
        ("{rows: servers, columns: goodput_mbps, empty: [{at: {servers: 2}}]}", "because"),
        ("{rows: servers, columns: goodput_mbps, empty: [{column: drops, because: x}]}",
         '"drops" is'),
    ],
)  # fmt: skip
def test_what_makes_no_sense_in_a_table_is_refused_with_its_place(
    asked: str, why: str, tmp_path: Path
) -> None:
    with pytest.raises(StudyError) as caught:
        tables(tmp_path, asked)
    assert why in str(caught.value)
    assert "study.yaml:" in str(caught.value)


def test_what_a_study_asks_for_and_no_run_measured_is_a_caveat(tmp_path: Path) -> None:
    """Simulated hosts without costs of CPU time have none; a column with a reason is explained."""
    text = study_text(
        "factors: {servers: [2, 4]}\nfigures: [{y: server.cpu_pct, x: servers}]\ntables:\n"
        "  - {rows: servers, columns: [goodput_mbps, client.cpu_pct, server.cpu_pct]}\n"
        "  - rows: servers\n    columns: [goodput_mbps, server.network_mbps]\n"
        "    empty: [{column: server.network_mbps, because: nobody looked}]\n",
        servers='"${servers}"',
    )
    told = [str(sentence) for sentence in caveat_sentences(analyse(from_text(tmp_path, text)))]
    assert [one for one in told if "which no run measured" in one] == [
        "The study asks for “CPU of client” (tables[0].columns[1]), which no run measured.",
        "The study asks for “CPU of server” (tables[0].columns[2] and figures[0]), which no run "
        "measured.",
    ]


def test_percentiles_of_too_few_samples_are_a_caveat(tmp_path: Path) -> None:
    """Three runs of 90 iterations; a 99th percentile takes 299, a median 6."""
    text = study_text(
        "factors: {servers: [2, 4]}\nreplicates: 3\ntables:\n"
        "  - {rows: servers, columns: [completion_ms_p50, completion_ms_p99]}\n",
        servers='"${servers}"',
    )
    told = [str(sentence) for sentence in caveat_sentences(analyse(from_text(tmp_path, text)))]
    assert [one.replace("\u00a0", " ") for one in told if "has no value in" in one] == [
        "The study asks for “99th percentile of the completion time” (tables[0].columns[1]), which "
        "has no value in 2 of 2 cells: too few iterations: 270 of 299."
    ]


def test_a_metric_to_compare_on_that_no_run_measured_is_told(tmp_path: Path) -> None:
    text = study_text(
        "factors: {servers: [2, 4]}\nreplicates: 3\n"
        "conclude: [{compare: servers, on: [goodput_mbps, server.cpu_pct]}]\n",
        servers='"${servers}"',
    )
    result = analyse(from_text(tmp_path, text))
    (point,) = concluded_points(result)
    assert str(point.sentences[-1]) == "Not measured, and so not compared: server.cpu_pct."
    assert any("“CPU of server” (conclude.compare)" in str(one) for one in caveat_sentences(result))


def test_a_standard_figure_of_what_no_run_measured_is_a_caveat(tmp_path: Path) -> None:
    """Bytes without a size are no transfers that take a time."""
    path = tmp_path / "study.yaml"
    path.write_text((CONFORMANCE / "transfer-star.yaml").read_text() + "\nfigures: [transfer]\n")
    made = results(tmp_path, path, maker=workloads.record, overrides={"replicates": "2"})
    told = [str(sentence) for sentence in caveat_sentences(analyse(made))]
    assert "The study asks for “Transfer time” (figures[0]), which no run measured." in told
