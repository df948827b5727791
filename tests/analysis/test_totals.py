"""Totals of a run are compared with published ones by the same time or work, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.agreement import Agreement
from netstudy.analysis.caveats.published_data import UncomparedTotal
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.wire import Run, RunRecord
from tests.report.results import from_text, study_text
from tests.report.synthetic import from_samples

ITERATIONS, DROPS_EACH, ITERATION_MS = 60, 3, 10.0


def of_study(folder: Path, amount: str, published: int) -> StudyResult:
    """A study of one cell that drops 3 frames in each of 60 iterations of 10 ms, beside a published
    total."""
    (folder / "data.csv").write_text(f"servers,drops\n4,{published}\n")
    rest = f"""
factors: {{servers: [4]}}
replicates: 2
tables: [{{title: Losses, rows: servers, columns: [switch@client.port_drops]}}]
reference:
  file: data.csv
  source: a source
  {amount}
  factors: {{servers: servers}}
  columns: {{drops: {{metric: switch@client.port_drops}}}}
"""
    text = study_text(rest, servers='"${servers}"', iterations=str(ITERATIONS))

    def maker(run: Run) -> RunRecord:
        drops = [DROPS_EACH] * ITERATIONS
        return from_samples(run, [ITERATION_MS] * ITERATIONS, drops, drops, [0] * ITERATIONS)

    return analyse(from_text(folder, text, maker))


def agreements(result: StudyResult) -> list[Agreement]:
    return [
        one
        for case in result.cases
        for panel in case.panels
        for one in (panel.reference.agreements if panel.reference else ())
    ]


def uncompared(result: StudyResult) -> list[str]:
    """The metrics that are not compared, because their published totals are of unknown length."""
    return [one.metric.name for one in result.caveats if isinstance(one, UncomparedTotal)]


@pytest.mark.parametrize(
    ("amount", "published", "value", "unit"),
    [
        ("measured: 600 ms", 180, 180, "packets"),  # the same length: totals as they are
        ("measured: 6 s", 1800, 300, "packets/s"),
        ("counted: 60", 180, 180, "packets"),
        ("counted: 1000", 3000, 3, "packets"),
    ],
)
def test_the_same_losses_over_another_length_agree(
    tmp_path: Path, amount: str, published: int, value: float, unit: str
) -> None:
    result = of_study(tmp_path, amount, published)
    (found,) = agreements(result)
    (row,) = found.rows
    assert row.published == pytest.approx(value)
    assert row.error_pct == pytest.approx(0)
    assert found.metric.unit == unit
    assert not uncompared(result)


def test_another_rate_over_another_length_is_off_by_the_rate_only(tmp_path: Path) -> None:
    (found,) = agreements(of_study(tmp_path, "measured: 6 s", 3600))
    assert found.rows[0].error_pct == pytest.approx(-50)


def test_a_total_over_an_unknown_length_is_not_compared_and_that_is_said(tmp_path: Path) -> None:
    result = of_study(tmp_path, "at: {}", 1800)
    assert agreements(result) == []
    assert uncompared(result) == ["switch@client.port_drops"]
