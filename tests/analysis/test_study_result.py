"""What a report says of a study: what the study asks for is there, or is named as left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.errors import StudyError
from tests.report.results import from_text, study_text

SWITCHES = """\
factors: {switch: [nexus-5010, arista-7124s], servers: [2, 4], latency: [new]}
replicates: 3
"""
COMPARED = "compare: {factor: switch, base: nexus-5010"


def found(folder: Path, rest: str) -> StudyResult:
    """What is found of a study with two switches."""
    text = study_text(SWITCHES + rest, switch='"${switch}"', servers='"${servers}"')
    return analyse(from_text(folder, text))


def test_a_base_is_the_level_of_that_name_however_it_is_written(tmp_path: Path) -> None:
    """Beside 1.50 the level 2 is text too, and the base is a number."""
    levels = "factors: {latency: [1.50, 2], servers: [2, 4]}\nreplicates: 3\n"
    compared = "compare: {factor: latency, base: 2}\n"
    switch = '{profile: generic-shared, alpha: "${latency}"}'
    text = study_text(levels + compared, switch=switch, servers='"${servers}"')
    result = analyse(from_text(tmp_path, text))
    (case,) = result.cases
    assert {
        (verdicts.level, verdicts.base) for panel in case.panels for verdicts in panel.verdicts
    } == {("1.50", "2")}


@pytest.mark.parametrize(
    "text",
    [
        f"{COMPARED}, on: [response_ms_mean, goodput_mbps]}}\n",
        "require: [response_ms_mean < 1]\n",
        "tables: [{rows: servers, columns: [response_ms_mean]}]\n",
        "figures: [latency_p99]\n",
    ],
)
def test_a_metric_that_the_workload_does_not_have_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(StudyError, match="the workload incast"):
        found(tmp_path, text)


def test_metrics_of_nodes_are_compared_as_any_other(tmp_path: Path) -> None:
    result = found(tmp_path, f"{COMPARED}, on: [server.cpu_pct, goodput_mbps]}}\n")
    assert result.comparing is not None
    assert [metric.name for metric in result.comparing.on] == ["server.cpu_pct", "goodput_mbps"]
    assert result.warnings.not_shown == ()


AS_SHOWN = "{title: Goodput, rows: servers, columns: switch, cell: goodput_mbps}"


@pytest.mark.parametrize(
    ("tables", "left_out"),
    [
        (AS_SHOWN, ()),
        ("{rows: [latency, servers], columns: switch, cell: goodput_mbps}", ()),
        ("{rows: [servers, latency], columns: switch, cell: goodput_mbps}", ("rows",)),
        ("{rows: switch, columns: servers, cell: goodput_mbps}", ("rows", "columns")),
        ("{rows: servers, columns: goodput_mbps}", ("columns",)),
        ("{rows: servers, columns: [switch, drops_per_iteration], cell: goodput_mbps}",
         ("columns",)),
        ("{rows: servers, columns: switch, cell: goodput_mbps, show: every replicate, "
         "normalise: {goodput_mbps: first row}}", ("show", "normalise")),
    ],
)  # fmt: skip
def test_parts_of_a_table_that_are_not_carried_out_are_named(
    tables: str, left_out: tuple[str, ...], tmp_path: Path
) -> None:
    result = found(tmp_path, f"{COMPARED}}}\ntables: [{tables}]\n")
    assert result.warnings.not_shown == tuple(f"tables[0].{part}" for part in left_out)


def test_the_title_of_the_only_table_stands_above_it(tmp_path: Path) -> None:
    assert found(tmp_path, f"{COMPARED}}}\ntables: [{AS_SHOWN}]\n").table_title == "Goodput"


def test_the_titles_of_several_tables_are_named(tmp_path: Path) -> None:
    both = f"report: {{tables: [{AS_SHOWN}]}}\ntables: [{AS_SHOWN}]\n"
    result = found(tmp_path, f"{COMPARED}}}\n{both}")
    assert result.table_title is None
    assert result.warnings.not_shown == ("report.tables[0].title", "tables[0].title")


def test_figures_and_conclusions_that_are_not_carried_out_are_named(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        "figures: [completion, {name: drops, title: Lost}, {x: servers, y: goodput_mbps}]\n"
        "conclude: [bottleneck, {knee: servers}, {compare: switch}]\n",
    )
    assert [metric.figure for metric in result.figures] == ["completion", "drops"]
    assert result.warnings.not_shown == (
        "figures[1].title",
        "figures[2]",
        "conclude.bottleneck",
        "conclude.knee",
        "conclude.compare",
    )
