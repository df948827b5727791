"""What a report says of a study: what the study asks for is there, or is named as left out."""

from __future__ import annotations

from pathlib import Path

from netstudy.analysis.study_result import StudyResult, analyse
from tests.report.results import from_text, study_text

SWITCHES = "factors: {switch: [nexus-5010, arista-7124s], servers: [2, 4]}\nreplicates: 3\n"
COMPARED = "compare: {factor: switch, base: nexus-5010"


def found(folder: Path, rest: str) -> StudyResult:
    """What is found of a study with two switches."""
    text = study_text(SWITCHES + rest, switch='"${switch}"', servers='"${servers}"')
    return analyse(from_text(folder, text))


def test_a_base_is_the_level_of_that_name_however_it_is_written(tmp_path: Path) -> None:
    """Beside 1.50 the level 2 is text too, and the base is a number."""
    levels = "factors: {latency: [1.50, 2], servers: [2, 4]}\nreplicates: 3\n"
    compared = "compare: {factor: latency, base: 2}\n"
    result = analyse(from_text(tmp_path, study_text(levels + compared, servers='"${servers}"')))
    (case,) = result.cases
    assert {
        (verdicts.level, verdicts.base) for panel in case.panels for verdicts in panel.verdicts
    } == {("1.50", "2")}


def test_a_metric_to_compare_on_that_the_workload_does_not_have_is_named(tmp_path: Path) -> None:
    on = "on: [server.cpu_pct, response_ms_mean, goodput_mbps]"
    result = found(tmp_path, f"{COMPARED}, {on}}}\n")
    assert result.comparing is not None
    assert [metric.name for metric in result.comparing.on] == ["goodput_mbps"]
    assert result.warnings.not_shown == (
        "compare.on: server.cpu_pct",
        "compare.on: response_ms_mean",
    )


def test_published_values_of_a_metric_that_the_workload_does_not_have_are_named(
    tmp_path: Path,
) -> None:
    (tmp_path / "paper.csv").write_text("servers,response,goodput\n2,3.5,9000\n")
    result = found(
        tmp_path,
        "reference:\n  file: paper.csv\n  source: a paper\n  factors: {servers: servers}\n"
        "  columns: {response: {metric: response_ms_mean}, goodput: {metric: goodput_mbps}}\n",
    )
    assert result.warnings.not_shown == ("response of paper.csv: response_ms_mean",)
