"""The page on calibration: written from what a command answers, and the page that is there."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from netstudy.hardware import HardwareLibrary
from netstudy.report.markdown import text
from tests.tools.test_accuracy import named, number, tables
from tools import calibration
from tools.calibration import AIMS, BEGIN, END, MEASURE, PAGES, ROOT, Row

FOUND = (
    "netstudy calibrate studies/shop --profile shop --fit a,b --choose c=1,2 "
    "--tolerance etr_pct=1% --tolerance etr_pct=0.7 --rounds 9 --measure '60 s' --replicates 2"
)
TOLD = {f"reference/{name}.csv": ("cpus",) for name in "ab"}


def words(cells: tuple[object, ...]) -> list[str]:
    """The cells of a row as they are read."""
    return [str(cell).replace("\u00a0", " ") for cell in cells]


def aim(metric: str) -> calibration.Aim:
    (found,) = (one for one in AIMS if one.metric == metric)
    return found


def answered(
    row: str, metric: str, measured: float, simulated: float, **more: Any
) -> dict[str, Any]:
    """A row of an answer."""
    file, line = row.split(":")
    treatment = {"cpus": int(line), **more.pop("at", {})}
    usual = {"predicted": False, "left_out": None}
    return {
        "row": f"reference/{file}.csv:{line}",
        "treatment": treatment,
        "metric": metric,
        "measured": measured,
        "simulated": simulated,
        **usual,
        **more,
    }


def test_figures_are_judged_as_they_were_found_but_kept_and_longer() -> None:
    words = calibration.judging(FOUND, "120 s")
    assert shlex.join(words) == (
        "netstudy calibrate studies/shop --profile shop --fit a,b --tolerance etr_pct=1% "
        "--tolerance etr_pct=0.7 --replicates 2 --rounds 1 --measure '120 s'"
    )


@pytest.mark.parametrize(
    ("metric", "published", "near", "far"),
    [
        ("etr_pct", 200.0, (196.1, 203.9), (195.9, 204.1)),
        ("response_ms_mean", 10.0, (9.1, 10.9), (8.9, 11.1)),
        ("response_ms_mean", 40.0, (38.1, 41.9), (37.9, 42.1)),
        ("app.cpu_pct", 90.0, (88.1, 91.9), (87.9, 92.1)),
        ("db.cpu_pct", 40.0, (35.1, 44.9), (34.9, 45.1)),
        ("app@client.txdrop_per_s", 240.0, (121.0, 479.0), (119.0, 481.0)),
        ("app@client.txdrop_per_s", 0.3, (0.0, 1.2), (1.4,)),
    ],
)
def test_a_row_is_close_within_the_widest_of_an_aims_bounds(
    metric: str, published: float, near: tuple[float, ...], far: tuple[float, ...]
) -> None:
    def strained(value: float) -> float:
        row = Row("a.csv", {}, metric, published, value, None, "fitted")
        return calibration.strain(aim(metric), row)

    assert all(strained(value) <= 1 for value in (published, *near))
    assert all(strained(value) > 1 for value in far)


def test_more_cpus_than_were_fitted_are_extrapolated_and_have_an_aim_of_their_own() -> None:
    found = {
        "rows": [
            answered("a:1", "etr_pct", 100, 99),
            answered("a:2", "etr_pct", 199, 200),
            answered("a:4", "etr_pct", 400, 400, predicted=True),
            answered("b:8", "etr_pct", 50, 50, predicted=True),
        ]
    }
    rows = calibration.rows_of(found)
    assert [row.kind for row in rows] == ["base", "fitted", "extrapolated", "predicted"]
    # The row of 100 % is the base of the others, whatever the fit made of it.
    expected = pytest.approx([100, 20000 / 99, 40000 / 99, 50])
    assert [row.simulated for row in rows] == expected
    extrapolated = [
        row for row in calibration.aims_table(rows, TOLD).rows if "extrapolated" in str(row[1])
    ]
    assert words(extrapolated[0][1:3]) == ["1 extrapolated", "3 %"]


def test_the_row_that_is_farthest_stands_for_its_metric() -> None:
    found = {
        "rows": [
            answered("a:1", "db.cpu_pct", 50, 51, left_out=56),
            answered("a:2", "db.cpu_pct", 50, 47, left_out=46),
        ]
    }
    fitted, left_out = calibration.aims_table(calibration.rows_of(found), TOLD).rows
    assert words(fitted[1:]) == [
        "2 fitted", "5 points", "cpus 2", "50.00", "47.00", "−3.00", "−6.0", "yes",
    ]  # fmt: skip
    assert words(left_out[3:]) == [
        "cpus 1", "50.00", "56.00", "6.00", "12.0", "no",
    ]  # fmt: skip


@pytest.mark.engine
def test_writing_replaces_only_the_marked_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Mine\n\n{BEGIN}\nold\n{END}\n\nThe end.\n")
    asked: list[str] = []
    answer = {
        "rows": [
            answered("trade_buffers:2", "app.cpu_pct", 92.54, 93, at={"buffers": 128}, left_out=94),
            answered("trade_buffers:3", "app.cpu_pct", 91.61, 91, at={"buffers": 16}),
        ],
        "values": {"app_cpu": 1.0},
        "sum_of_squares": 3.2,
        "unresolved": ["app.cpu_pct differs by too little"],
    }

    def said(words: list[str]) -> dict[str, Any]:
        asked.extend(words)
        return answer

    monkeypatch.setattr(calibration, "answer", said)
    calibration.write("trade-z9", page, "9 s")
    written = page.read_text()
    assert asked[-2:] == ["--measure", "9 s"]
    assert written.startswith(f"# Mine\n\n{BEGIN}\n\nnetstudy ")
    assert written.endswith(f"{END}\n\nThe end.\n")
    assert "old" not in written
    (rows,) = named(written, "is")
    assert [row["buffers"] for row in rows] == ["128", "16"]
    assert [row["left out"] for row in rows] == ["94.00", ""]
    assert "- app.cpu_pct differs by too little" in written
    calibration.write("trade-z9", page, "9 s")
    assert page.read_text() == written


def test_another_profile_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert calibration.main(["brokerage"]) == 2
    assert "brokerage is not one of trade-z9, ethernet-z9" in capsys.readouterr().err


@pytest.mark.parametrize("profile", PAGES)
class TestThePageThatIsThere:
    """It takes minutes to make again; whether it is whole, and of the profiles of now, is seen."""

    def part(self, profile: str) -> str:
        page = PAGES[profile].read_text(encoding="utf-8")
        return page.partition(BEGIN)[2].partition(END)[0]

    def test_it_has_the_command_that_the_profile_says_it_was_found_by(self, profile: str) -> None:
        command = calibration.command_of(profile, HardwareLibrary.default())
        judged = shlex.join(calibration.judging(command, MEASURE))
        assert f"```sh\n{judged}\n```" in self.part(profile), "make calibration"

    def test_its_fitted_figures_are_those_of_the_profiles(self, profile: str) -> None:
        (found,) = named(self.part(profile), "fits as well")
        library = HardwareLibrary.default()
        now = {
            (name, text(row.name)): (row.value, row.interval or "")
            for name in {row["profile"] for row in found}
            for row in calibration.fitted_rows(name, library)
        }
        then = {(r["profile"], r["figure"]): (r["value"], r["fits as well"]) for r in found}
        assert profile in {name for name, _ in then}
        assert then == now, "the profiles have changed since: make calibration"

    def test_every_published_value_is_the_one_of_the_reference(self, profile: str) -> None:
        part = self.part(profile)
        study = ROOT / calibration.command_of(profile, HardwareLibrary.default()).split()[2]
        published = {
            float(value)
            for file in (study / "reference").iterdir()
            for row in csv.DictReader(file.read_text().splitlines())
            for value in row.values()
            if re.fullmatch(r"\d+(\.\d+)?", value)
        }
        rows = [row for table in named(part, "left out") for row in table]
        assert rows
        assert {number(row["published"]) for row in rows} <= published

    def test_every_error_is_that_of_its_row_and_the_farthest_is_told(self, profile: str) -> None:
        part = self.part(profile)
        (aims,) = named(part, "Aim")
        rows = [row for table in named(part, "left out") for row in table]
        for row in (*aims, *rows):
            error = number(row["simulated"]) - number(row["published"])
            assert number(row["error"]) == pytest.approx(error, abs=0.011)
        for one in aims:
            if one["Rows"].endswith("fitted"):
                own = [
                    abs(number(row["error"])) for row in rows
                    if row["metric"] == one["Metric"] and row["is"] == "fitted"
                ]  # fmt: skip
                assert len(own) == int(one["Rows"].split()[0])
                assert abs(number(one["error"])) <= max(own)

    def test_it_is_in_the_shape_that_the_tool_writes(self, profile: str) -> None:
        found = tables(self.part(profile))
        heads = [list(table[0]) for table in found]
        assert heads[0] == [
            "Metric", "Rows", "Aim", "Farthest",
            "published", "simulated", "error", "error (%)", "Met",
        ]  # fmt: skip
        assert heads[-1] == ["profile", "figure", "value", "fits as well"]
        for head in heads[1:-1]:
            assert head[-7:] == [
                "metric", "published", "simulated", "error", "error %", "left out", "is",
            ]  # fmt: skip

    @pytest.mark.slow
    def test_a_run_of_today_meets_what_the_page_says_is_met(
        self, profile: str, tmp_path: Path
    ) -> None:
        page = tmp_path / "page.md"
        page.write_text(f"{BEGIN}\n{END}\n")
        calibration.write(profile, page)
        (now,), (then,) = (
            named(written, "Aim") for written in (page.read_text(), self.part(profile))
        )
        assert [(row["Metric"], row["Rows"], row["Met"]) for row in now] == [
            (row["Metric"], row["Rows"], row["Met"]) for row in then
        ]
