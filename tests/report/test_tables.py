"""The published layout, its two-level header, and empty cells for what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.analysis.workloads.incast import COMPLETION
from netstudy.report.document import document
from netstudy.report.expectation_table import claim_text
from netstudy.report.markdown import pipe_table
from netstudy.report.plaintext import text_table
from netstudy.report.reference_tables import reference_table
from netstudy.report.refs import Name, Number, say
from netstudy.report.tables import (
    Group,
    Table,
    causes_table,
    results_table,
    unrepeated,
    verdicts_table,
)
from netstudy.wire import Run, RunRecord
from tests.report.results import from_text, small_incast, study_text
from tests.report.synthetic import from_samples, record

CAPTION = say("Results")


def main_table(result: StudyResult) -> Table:
    return results_table(result.cases[0].panels[0].panel, result.headline, "t", CAPTION)


def test_the_header_is_the_published_one(found: StudyResult) -> None:
    table = main_table(found)
    assert [(group.heading, group.columns) for group in table.groups] == [
        ("servers", ()),
        ("Goodput", ("arista-7124s", "nexus-5010")),
        ("Dropped packets", ("arista-7124s", "nexus-5010")),
        ("TCP retransmissions", ("arista-7124s", "nexus-5010")),
        ("Completion time", ("arista-7124s", "nexus-5010")),
    ]
    assert [str(row[0]) for row in table.rows] == ["1", "2", "5", "9"]
    assert all(len(row) == 9 for row in table.rows)


def test_every_number_names_its_cell_and_its_runs(found: StudyResult) -> None:
    last = main_table(found).rows[-1][-1]
    assert isinstance(last, Number)
    assert last.source.startswith(
        "completion_ms_mean, switch=nexus-5010, configuration=4 MB, servers=9; "
        "5 runs, 600 iterations; 95 % interval over runs "
    )


def is_gone(planned: Run) -> bool:
    return planned.treatment["servers"] == 5 and planned.treatment["switch"] == "arista-7124s"


def test_a_missing_cell_is_empty_in_every_form(tmp_path: Path) -> None:
    made = small_incast(
        tmp_path,
        lambda p: None if is_gone(p) else record(p),
    )
    result = analyse(made)
    table = main_table(result)
    assert table.rows[2][1] is None
    assert table.rows[2][2] is not None
    assert "| 5 |  |" in pipe_table(table)
    verdict = verdicts_table(result.cases[0].panels[0].verdicts[0], "v", CAPTION)
    assert str(verdict.rows[2][-1]) == "not measured"


def test_the_verdict_has_a_row_a_number_of_servers(found: StudyResult) -> None:
    table = verdicts_table(found.cases[0].panels[0].verdicts[0], "v", CAPTION)
    assert len(table.rows) == 4
    assert str(table.rows[-1][-1]) == "nexus-5010\u00a0better"
    assert str(table.rows[0][-1]) == "same"


def test_a_switch_stands_with_its_factor_and_a_name_alone(tmp_path: Path) -> None:
    text = study_text(
        "factors: {ecn: [true, false], servers: [2, 8]}\nreplicates: 3\n"
        "compare: {factor: ecn, base: false, noise: 2 %}\n"
        "expect: [{lower: completion_ms_mean, with: {ecn: true}, than: {ecn: false}}]\n",
        servers='"${servers}"',
    ).replace('count: "${servers}"', 'count: "${servers}", tcp: {ecn: "${ecn}"}')

    def made(planned: Run) -> RunRecord:
        n = planned.count("measure")
        zeros = np.zeros(n, dtype=int)
        slower = 1 if planned.treatment["ecn"] else 2
        times = np.full(n, 10.0 * slower * (1 + 0.001 * planned.replicate))
        return from_samples(planned, times, zeros, zeros, zeros)

    result = analyse(from_text(tmp_path, text, made))
    assert main_table(result).groups[1].columns == ("ecn true", "ecn false")
    verdict = verdicts_table(result.cases[0].panels[0].verdicts[0], "v", CAPTION)
    assert verdict.groups[1].columns == ("ecn true", "ecn false")
    assert verdict.groups[2].meaning == "ecn true ÷ ecn false"
    assert str(verdict.rows[0][-1]).replace("\u00a0", " ") == "ecn true better"
    expected = "completion time is lower with ecn true than with ecn false"
    assert claim_text(result.expectations[0]) == expected


def test_published_values_stand_beside_the_simulated_ones(found: StudyResult) -> None:
    panel = found.cases[0].panels[0]
    assert panel.reference is not None
    table = reference_table(
        panel.panel, panel.reference, COMPLETION, "r", CAPTION, has_fitted=False
    )
    assert [str(value) for value in table.rows[0][:2]] == ["1", "3.5"]
    assert [str(row[1]) for row in table.rows] == ["3.5", "11.7", "54.3", "211.4"]
    assert [str(row[5]) for row in table.rows] == ["3.5", "19.9", "27.8", "57.7"]


def test_each_link_of_the_chain_has_a_row(found: StudyResult) -> None:
    panel = found.cases[0].panels[0]
    causes = panel.causes
    table = causes_table(panel.panel, causes, "c", CAPTION)
    assert len(table.rows) == len(causes.links) == 16


SMALL = Table(
    "small",
    CAPTION,
    (Group("n"), Group("Time", "ms", columns=("old-switch", "new")), Group("Note")),
    (
        (Number(1, "1", ""), Number(10, "10.0", ""), None, Name("a|b")),
        (Number(20, "20", ""), Number(9, "9.0", ""), Number(8, "8.0", ""), Name("<c>")),
    ),
)


def test_plain_text_keeps_the_two_levels() -> None:
    assert text_table(SMALL, 80) == "\n".join(
        [
            "       Time (ms)",
            "        old-",
            " n    switch  new    Note",
            "─────────────────────────",
            " 1      10.0         a|b",
            "20       9.0  8.0    <c>",
        ]
    )


def test_plain_text_is_cut_where_it_would_be_too_wide() -> None:
    parts = text_table(SMALL, 20).split("\n\n")
    assert len(parts) == 2
    assert all(len(line) <= 20 for part in parts for line in part.splitlines())
    assert all(part.splitlines()[-1].startswith("20") for part in parts)


def test_markdown_escapes_what_would_end_a_cell() -> None:
    assert pipe_table(SMALL).splitlines() == [
        "| n | Time (ms), old-switch | Time (ms), new | Note |",
        "| ---: | ---: | ---: | --- |",
        "| 1 | 10.0 |  | a\\|b |",
        "| 20 | 9.0 | 8.0 | &lt;c> |",
    ]


def test_a_table_that_equals_another_to_the_digit_is_named_under_it_and_not_repeated() -> None:
    def table(name: str, value: str) -> Table:
        row = (Name("1"), Number(float(value), value, "made up"))
        return Table(name, say(name), (Group("x"), Group("y")), (row,))

    first, other = unrepeated([table("drops", "4.0"), table("again", "4.0"), table("time", "9")])
    assert (first.id, other.id) == ("drops", "time")
    assert [*map(str, first.notes)] == ["again: the same figures, to the digit."]
    assert other.notes == ()


def test_a_report_has_no_two_equal_tables(tmp_path: Path) -> None:
    """In these records each drop is retransmitted, so both verdicts have the same figures."""
    folder = small_incast(tmp_path)
    (case,) = document(folder, analyse(folder)).cases
    shown = case.panels[0].verdicts
    rows = [str([[*map(str, row)] for row in table.rows]) for table in shown]
    assert len(rows) == len(set(rows))
    assert any("TCP retransmissions" in str(note) for table in shown for note in table.notes)
