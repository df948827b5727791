"""The page on accuracy: written from a run's folder, and the one that is there is such a page."""

from __future__ import annotations

import csv
import re
import statistics
from itertools import combinations, pairwise, product
from pathlib import Path

import pytest
from scipy.stats import spearmanr

from netstudy.analysis.agreement import Beside
from netstudy.analysis.intervals import Estimate
from netstudy.hardware import HardwareLibrary
from netstudy.report.markdown import text
from netstudy.store import Folder
from tests.report.results import INCAST, NOW, from_text, small_incast, study_text
from tools import ablation, accuracy
from tools.accuracy import BEGIN, END, GOALS
from tools.trial import CONFIGURATIONS, PAGE, ROOT

SWITCHES = ("arista-7124s", "nexus-5010")
Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A results folder that was run to its end."""
    folder = small_incast(tmp_path_factory.mktemp("accuracy"))
    folder.seal(NOW)
    return folder


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "accuracy.md"
    path.write_text(f"# Mine\n\n{BEGIN}\nan older table\n{END}\n\nThe end.\n")
    return path


def tables(page: str) -> list[Rows]:
    """The pipe tables of a page, a dictionary a row."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        head, _, *rows = [
            [cell.strip() for cell in line.split("|")[1:-1]] for line in block.splitlines()
        ]
        found.append([dict(zip(head, row, strict=True)) for row in rows])
    return found


def named(page: str, column: str) -> list[Rows]:
    """The tables that have a column."""
    return [table for table in tables(page) if column in table[0]]


def number(cell: str) -> float:
    return float(cell.replace(",", "").replace("−", "-"))


def test_goals_summary_and_rows_stand_between_the_markers(page: Path, done: Folder) -> None:
    accuracy.write(done.path, page)
    written = page.read_text()
    assert written.startswith(f"# Mine\n\n{BEGIN}\n\nTestbed sim, seed 1")
    assert written.endswith(f"{END}\n\nThe end.\n")
    assert "an older table" not in written
    (goals,) = named(written, "Goal")
    assert len(goals) == sum(goal.configuration == "4 MB" for goal in GOALS)
    assert {row["Met"] for row in goals} <= {"yes", "no"}
    (rows,) = (t for t in named(written, "servers") if t[0]["arista-7124s, published"] == "3.5")
    assert [row["servers"] for row in rows] == ["1", "2", "5", "9"]
    intervals = [row["nexus-5010, 95 % interval"] for row in rows]
    assert intervals[0] == "", "its ends are equal in the digits that are shown"
    assert all(" to " in interval for interval in intervals[1:])


@pytest.mark.parametrize(
    ("published", "own", "near"),
    [(100, 120, True), (100, 121, False), (1.5, 3.5, True), (1.5, 3.6, False), (0.0, 2.0, True)],
)
def test_a_row_is_near_within_its_share_or_two_packets(
    published: float, own: float, near: bool
) -> None:
    row = Beside(1, published, Estimate(own, None, 1.0, 1, "run"))
    assert accuracy.is_within(row, 20, 2) is near


def test_a_goal_is_met_on_its_bound_and_missed_beyond() -> None:
    for value, met in ((5.0, True), (5.01, False), (None, False)):
        assert accuracy._at_most(value, 5.0) is met


def test_a_test_stands_beside_the_published_one_and_beside_every_other(
    page: Path, done: Folder
) -> None:
    accuracy.write(done.path, page)
    (rows,) = named(page.read_text(), "Tests")
    for switch in SWITCHES:
        times: dict[int, dict[int, float]] = {}
        for record in done.records():
            if record.treatment["switch"] == switch and record.samples.iteration is not None:
                mean = statistics.mean(record.samples.iteration.completion_ns)
                times.setdefault(record.replicate, {})[int(record.treatment["servers"])] = mean
        curves = [[mean for _, mean in sorted(test.items())] for test in times.values()]
        expected = [spearmanr(one, other).statistic for one, other in combinations(curves, 2)]
        (row,) = (row for row in rows if f"4 MB, {switch}, two simulated" in row.values())
        assert row["Tests"] == str(len(expected))
        assert number(row["Median"]) == pytest.approx(statistics.median(expected), abs=5e-4)
        assert number(row["From"]) == pytest.approx(min(expected), abs=5e-4)
        assert number(row["To"]) == pytest.approx(max(expected), abs=5e-4)
        (row,) = (row for row in rows if f"4 MB, {switch}, simulated and published" in row.values())
        assert row["Tests"] == str(len(curves))


def test_writing_it_twice_changes_nothing(page: Path, done: Folder) -> None:
    accuracy.write(done.path, page)
    once = page.read_bytes()
    accuracy.write(done.path, page)
    assert page.read_bytes() == once


def test_a_run_without_published_values_is_refused(
    tmp_path: Path, page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = from_text(tmp_path, study_text("factors: {seats: [1, 2]}\n", servers='"${seats}"'))
    made.seal(NOW)
    before = page.read_bytes()
    assert accuracy.main([str(made.path)]) == 2
    assert "has no published values" in capsys.readouterr().err
    assert page.read_bytes() == before


def test_a_wrong_call_says_how_to_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert accuracy.main([]) == 2
    assert "usage:" in capsys.readouterr().err


class TestThePageThatIsThere:
    """studies/incast/accuracy.md cannot be made again here, but whether it is whole can be seen."""

    page = PAGE.read_text(encoding="utf-8")

    def test_it_names_its_run(self) -> None:
        part = self.page.partition(BEGIN)[2].partition(END)[0]
        assert re.search(r"^Testbed sim, seed \d+, .*; results \d{8}T\d{6}Z", part, re.MULTILINE)
        assert "```sh\nnetstudy run studies/incast --testbed=sim --seed=" in part

    def test_every_published_value_is_the_one_of_the_reference(self) -> None:
        with (INCAST / "reference/incast_4mb_mtu9000.csv").open(newline="") as file:
            reference = {row["servers"]: row for row in csv.DictReader(file)}
        (completion, *_) = named(self.page, "servers")
        assert [row["servers"] for row in completion] == [str(n) for n in range(1, 24)]
        for row in completion:
            for switch in SWITCHES:
                column = f"completion_ms_{switch.replace('-', '_')}"
                published = float(reference[row["servers"]][column])
                assert number(row[f"{switch}, published"]) == pytest.approx(published, abs=0.051)

    def test_it_says_where_the_published_times_fall_and_what_that_does_to_ranks(self) -> None:
        with (INCAST / "reference/incast_4mb_mtu9000.csv").open(newline="") as file:
            times = [float(row["completion_ms_nexus_5010"]) for row in csv.DictReader(file)]
        pairs = enumerate(pairwise(times), start=2)
        falls = [str(servers) for servers, (before, after) in pairs if after < before]
        rho = spearmanr(times, range(len(times))).statistic
        prose = " ".join(self.page.split())
        assert f"they fall at {', '.join(falls[:-1])} and {falls[-1]} servers" in prose
        assert f"monotonic curve has a rank correlation of {rho:.3f} with them" in prose

    def test_every_error_is_that_of_its_row_and_the_median_that_of_its_rows(self) -> None:
        summaries = named(self.page, "Error (%), median, absolute")
        rows = named(self.page, "servers")
        metrics = ("Completion time", "Goodput", "Dropped packets", "TCP retransmissions")
        assert (len(summaries), len(rows)) == (3, 3 * len(metrics))
        for (summary, metric), table in zip(product(summaries, metrics), rows, strict=True):
            medians = {(row["Metric"], row["switch"]): row for row in summary}
            for switch in SWITCHES:
                errors = [e for row in table if (e := self.error(row, switch)) is not None]
                median = statistics.median(map(abs, errors))
                found = number(medians[metric, switch]["Error (%), median, absolute"])
                assert found == pytest.approx(median, abs=0.1)

    def test_the_summary_for_readers_has_its_medians(self) -> None:
        (summary,) = named((ROOT / "docs/concepts/accuracy.md").read_text("utf-8"), "quantity")
        found = [
            {**row, "configuration": configuration}
            for configuration, table in zip(
                CONFIGURATIONS, named(self.page, "Error (%), median, absolute"), strict=True
            )
            for row in table
        ]
        medians = {
            (row["configuration"], row["Metric"], row["switch"]): row["Error (%), median, absolute"]
            for row in found
        }
        told = {
            (row["configuration"], row["quantity"], switch): row[switch]
            for row in summary
            for switch in SWITCHES
        }
        assert len(told) == 18
        assert told.items() <= medians.items()

    def error(self, row: dict[str, str], switch: str) -> float | None:
        """The printed error of a row, held against the printed values."""
        if not row[f"{switch}, error %"]:
            return None
        published, simulated, error = (
            number(row[f"{switch}, {what}"]) for what in ("published", "simulated", "error %")
        )
        slack = 100 * 0.1 / published + 0.1
        assert error == pytest.approx(100 * (simulated / published - 1), abs=slack)
        return error

    def test_its_fitted_figures_are_those_of_the_profiles(self) -> None:
        library = HardwareLibrary.default(INCAST)
        now = {
            (name, row.name): (row.value, row.interval)
            for kind, name in (("switch", SWITCHES[0]), ("switch", SWITCHES[1]),
                               ("host", "ucs-c200-rhel54"))
            for row in library.rows(kind, name)  # type: ignore[arg-type]
            if row.source == "fitted"
        }  # fmt: skip
        (fitted,) = named(self.page, "fits as well")
        then = {(r["profile"], r["figure"]): (r["value"], r["fits as well"]) for r in fitted}
        shown = {(p, text(figure)): values for (p, figure), values in now.items()}
        assert then == shown, "the profiles have changed since: make accuracy"

    def test_it_tells_of_every_mechanism_beside_two_runs_of_the_whole_model(self) -> None:
        tables = named(self.page, "Taken away")
        assert len(tables) == 3
        known = {text(mechanism.name) for mechanism in ablation.MECHANISMS}
        for found in tables:
            assert [row["Taken away"] for row in found[:2]] == ["nothing", "nothing"]
            assert {row["Taken away"] for row in found[2:]} <= known
            assert all(number(row["Ratio"]) > 0 for row in found)
