"""What a report says of a study: what the study asks for is there, or is named as left out."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from netstudy.analysis import case_result
from netstudy.analysis.caveats.not_shown import NotShown
from netstudy.analysis.cells import CellTable
from netstudy.analysis.layout import Layout, layout
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.analysis.workloads.transfer import DROPS, GOODPUT
from netstudy.errors import StudyError
from netstudy.report.case_section import case_sections
from netstudy.wire import Run, RunRecord
from tests.report import loaded
from tests.report.results import from_text, study_text

SWITCHES = """\
factors: {switch: [nexus-5010, arista-7124s], servers: [2, 4], latency: [new]}
replicates: 3
"""
COMPARED = "compare: {factor: switch, base: nexus-5010"


def not_shown(result: StudyResult) -> list[str]:
    return [one.part for one in result.caveats if isinstance(one, NotShown)]


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
    assert not_shown(result) == []


AS_SHOWN = "{title: Goodput, rows: servers, columns: switch, cell: goodput_mbps}"


def test_the_tables_of_a_study_are_carried_out_whatever_their_layout(tmp_path: Path) -> None:
    swapped = "{rows: switch, columns: servers, cell: goodput_mbps, show: every replicate}"
    result = found(tmp_path, f"{COMPARED}}}\ntables: [{AS_SHOWN}, {swapped}]\n")
    assert [table.title for table in result.tables] == ["Goodput", None]
    assert not_shown(result) == []


def test_figures_have_the_titles_and_cases_that_the_study_gives_them(tmp_path: Path) -> None:
    result = found(tmp_path, "figures: [completion, {name: drops, title: Lost, case: main}]\n")
    assert [(one.metric.figure, one.title, one.case) for one in result.figures] == [
        ("completion", None, None),
        ("drops", "Lost", "main"),
    ]


def test_figures_that_are_not_carried_out_are_named(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        "figures: [completion, {kind: time series, y: completion_ms_mean}]\n"
        "conclude: [bottleneck, {knee: servers}, {compare: switch}]\n",
    )
    assert not_shown(result) == ["figures[1]"]


def test_a_case_is_analysed_when_its_section_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analysed: list[str] = []

    def noted(cells: CellTable, case: str, compared: str | None) -> Layout:
        analysed.append(case)
        return layout(cells, case, compared)

    monkeypatch.setattr(case_result, "layout", noted)
    cases = """
        cases:
          few: {factors: {switch: [nexus-5010, arista-7124s], servers: [2, 4]}}
          many: {factors: {switch: [nexus-5010, arista-7124s], servers: [8, 16]}}
        replicates: 3
        compare: {factor: switch, base: nexus-5010}
        """
    text = study_text(dedent(cases), switch='"${switch}"', servers='"${servers}"')
    result = analyse(from_text(tmp_path, text))
    sections = case_sections(result)
    assert analysed == []
    assert next(sections).name == "Test case few"
    assert analysed == ["few"], "charts of the first are drawn meanwhile"
    assert next(sections).name == "Test case many"
    assert not result.cells.problems
    assert [case.name for case in result.cases[-1:]] == ["many"]
    assert analysed == ["few", "many"], "each is analysed once"


@pytest.mark.parametrize("reads_switch", [True, False])
def test_without_tables_the_metrics_that_were_measured_are_shown(
    reads_switch: bool, tmp_path: Path
) -> None:
    def made(run: Run) -> RunRecord:
        found = loaded.record(run, loaded.Load(500.0))
        return found if reads_switch else found.model_copy(update={"ports": {}})

    text = loaded.STUDY.replace("CLIENTS", "[1, 2]")
    headline = analyse(from_text(tmp_path, text, maker=made)).headline
    assert GOODPUT in headline
    assert (DROPS in headline) == reads_switch
