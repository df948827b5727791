"""The verbs that read results: export, report, status, ls; and clean, which removes them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from netstudy.report import rendering
from netstudy.store import Folder
from tests.cli.conftest import SMALL_STUDY, Netstudy, start
from tests.stored import damage

COLUMNS = [
    "switch",
    "servers",
    "completion_ms_mean",
    "completion_ms_p50",
    "completion_ms_p99",
    "goodput_mbps",
    "drops_per_iteration",
    "retransmissions_per_iteration",
    "timeouts_per_iteration",
]

SEGMENT = "records/0001.seg"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, real_engine: Path) -> Path:
    """A results tree with one finished run in it; copied, never changed."""
    here = tmp_path_factory.mktemp("finished")
    (here / "study.yaml").write_text(SMALL_STUDY)
    command = [sys.executable, "-m", "netstudy", "run", "study.yaml", "--seed", "4"]
    environment = {**os.environ, "NETSTUDY_ENGINE": str(real_engine)}
    subprocess.run(command, cwd=here, env=environment, capture_output=True, check=True)
    return here / "results"


@pytest.fixture
def done(here: Path, finished: Path) -> Folder:
    """A finished run in ./results."""
    shutil.copytree(finished, here / "results", symlinks=True)
    return Folder(Path("results/small") / Path("results/small/latest").readlink())


@pytest.fixture
def unfinished(
    study: Path,
    done: Folder,
    netstudy: Netstudy,
    fake_engine: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Folder:
    """A newer run beside the finished one, whose engine crashed after two runs."""
    monkeypatch.setenv("FAKE_ENGINE", "crash:2")
    netstudy("run", study)
    return Folder(Path("results/small/latest").resolve())


def test_a_newer_run_that_is_not_finished_is_told_of(
    done: Folder, unfinished: Folder, netstudy: Netstudy
) -> None:
    newer = done.path.with_name(unfinished.path.name)
    said = f"{newer} is newer but not finished; using {done.path}\n"
    for command in (["report", "small"], ["export", "small"], ["compare", "small", done.path]):
        outcome = netstudy(*command)
        assert outcome.code == 0
        assert said in outcome.err
        assert said not in netstudy(command[0], done.path, *command[2:]).err


class TestExport:
    def test_csv_has_a_row_a_cell(self, done: Folder, netstudy: Netstudy) -> None:
        rows = list(csv.DictReader(io.StringIO(netstudy("export", done.path, "--csv").out)))
        columns = list(rows[0])
        assert columns[: len(COLUMNS)] == COLUMNS
        assert {"client.goodput_mbps", "switch@client.port_drops"} <= set(columns)
        cells = [(row["switch"], row["servers"]) for row in rows]
        levels = [(s, n) for s in ("arista-7124s", "nexus-5010") for n in ("1", "3", "6")]
        assert cells == levels

    @pytest.mark.parametrize("form", ["csv", "parquet"])
    def test_samples_that_no_run_has_are_refused(
        self, done: Folder, netstudy: Netstudy, form: str
    ) -> None:
        outcome = netstudy("export", done.path, "--samples", "transfer", f"--{form}")
        assert outcome.code == 2
        assert outcome.out == ""
        assert "no run has samples of transfer; there are iteration, connection" in outcome.err

    def test_the_numbers_follow_from_the_records(self, done: Folder, netstudy: Netstudy) -> None:
        """Means pool the iterations of all replicates; goodput is a ratio of sums."""
        table = csv.DictReader(io.StringIO(netstudy("export", done.path).out))
        row = next(r for r in table if (r["switch"], r["servers"]) == ("nexus-5010", "6"))
        records = [
            record
            for record in done.records()
            if record.treatment == {"switch": "nexus-5010", "servers": 6}
        ]
        samples = [record.samples.iteration for record in records if record.samples.iteration]
        assert len(samples) == 2
        times = [ns for sample in samples for ns in sample.completion_ns]
        drops = [count for sample in samples for count in sample.dropped_packets or ()]
        bits = sum(record.bytes_received or 0 for record in records) * 8
        assert float(row["completion_ms_mean"]) == pytest.approx(sum(times) / len(times) / 1e6)
        assert float(row["drops_per_iteration"]) == pytest.approx(sum(drops) / len(drops))
        assert float(row["goodput_mbps"]) == pytest.approx(bits / (sum(times) / 1e9) / 1e6)

    @pytest.mark.parametrize("named", ["small", "study.yaml", ".", "results/small/latest", None])
    def test_a_run_may_be_named_in_many_ways(
        self, study: Path, done: Folder, netstudy: Netstudy, named: str | None
    ) -> None:
        arguments = [] if named is None else [named]
        assert netstudy("export", *arguments).out == (done.path / "cells.csv").read_text()

    def test_json_and_markdown_have_the_same_cells(self, done: Folder, netstudy: Netstudy) -> None:
        assert len(json.loads(netstudy("export", "--json").out)["cells"]) == 6
        markdown = netstudy("export", "--markdown").out.splitlines()
        assert [cell.strip() for cell in markdown[0].strip("|").split("|")] == COLUMNS
        assert len(markdown) == 2 + 6

    def test_it_is_written_to_a_file_when_told_to(self, done: Folder, netstudy: Netstudy) -> None:
        outcome = netstudy("export", "small", "-o", "cells.csv")
        assert outcome.out == ""
        assert Path("cells.csv").read_bytes() == (done.path / "cells.csv").read_bytes()

    def test_one_format_at_a_time(self, done: Folder, netstudy: Netstudy) -> None:
        outcome = netstudy("export", "--csv", "--json")
        assert outcome.code == 2
        assert "one format at a time" in outcome.err

    def test_csv_for_programs_is_the_same_where_no_name_would_be_a_formula(
        self, done: Folder, netstudy: Netstudy
    ) -> None:
        for samples in ([], ["--samples", "iteration"]):
            raw = netstudy("export", "--csv-raw", *samples)
            assert raw.code == 0
            assert raw.out == netstudy("export", "--csv", *samples).out

    def test_an_unfinished_run_is_not_exported_as_if_it_were_whole(
        self, unfinished: Folder, done: Folder, netstudy: Netstudy
    ) -> None:
        refused = netstudy("export", unfinished.path)
        assert refused.code == 2
        assert "2 of 12 runs are there" in refused.err
        assert netstudy("export", "small").out == (done.path / "cells.csv").read_text()

    def test_a_reader_that_goes_away_is_no_error(self, done: Folder) -> None:
        process = start("export", "small")
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        process.stderr.close()
        assert process.wait() == -signal.SIGPIPE


class TestReport:
    def test_it_is_made_anew_from_the_records_and_the_folder_sealed_again(
        self, done: Folder, netstudy: Netstudy
    ) -> None:
        before = {path: path.read_bytes() for path in done.path.glob("report.*")}
        for path in before:
            path.write_text("scribbled over")
        outcome = netstudy("report", "small")
        assert outcome.code == 0
        assert outcome.out.splitlines() == [f"{done.path}/report.html", f"{done.path}/report.md"]
        assert {path: path.read_bytes() for path in before} == before
        sealed = json.loads((done.path / "DONE").read_text())["files"]
        assert {"report.html", "report.md", "records/0001.seg", "cells.csv"} <= set(sealed)
        assert done.changed_since_sealed() == []

    def test_another_folder_leaves_the_results_as_they_are(
        self, done: Folder, netstudy: Netstudy
    ) -> None:
        done_before = (done.path / "DONE").read_bytes()
        told = json.loads(netstudy("report", "small", "-o", "elsewhere", "--json").out)
        assert told == {
            "html": "elsewhere/report.html",
            "markdown": "elsewhere/report.md",
            "requirements": [],
            "expectations": [],
        }
        for name in ("report.html", "report.md"):
            assert (Path("elsewhere") / name).read_bytes() == (done.path / name).read_bytes()
        assert (done.path / "DONE").read_bytes() == done_before

    def test_records_that_were_changed_are_not_reported_on(
        self, done: Folder, netstudy: Netstudy
    ) -> None:
        damage(done.path / SEGMENT, -1)
        report = (done.path / "report.html").stat().st_mtime_ns
        outcome = netstudy("report", "small")
        assert outcome.code == 2
        assert SEGMENT in outcome.err
        assert (done.path / "report.html").stat().st_mtime_ns == report


class TestChangedFiles:
    @pytest.mark.parametrize(
        "verb",
        [("export",), ("export", "--samples", "iteration"), ("report",), ("compare", "small")],
        ids=" ".join,
    )
    def test_a_number_changed_in_a_record_is_not_passed_on(
        self, done: Folder, netstudy: Netstudy, verb: tuple[str, ...]
    ) -> None:
        damage(done.path / SEGMENT, -1)
        outcome = netstudy(verb[0], "small", *verb[1:])
        assert outcome.code == 2
        assert outcome.out == ""
        assert f"{SEGMENT} changed" in outcome.err
        assert f"netstudy run {done.path} --resume" in outcome.err

    @pytest.mark.parametrize("how", ["cut short", "altered", "gone"])
    def test_resume_carries_the_runs_of_a_changed_segment_of_a_finished_folder_out_again(
        self, done: Folder, netstudy: Netstudy, how: str
    ) -> None:
        """Nothing tells which of its records can still be relied on, but none is lost by it in
        another segment."""
        runs = [run.id for run in done.plan().runs]
        was, segment = [*done.stream()], done.path / SEGMENT
        if how == "gone":
            segment.unlink()
        elif how == "cut short":
            segment.write_bytes(segment.read_bytes()[:-40])
        else:
            damage(segment, -1)
        outcome = netstudy("run", done.path, "--resume")
        assert outcome.code == 0
        said = f"12 records were damaged, changed or missing, and are made again: {', '.join(runs)}"
        assert said in outcome.err
        anew = Folder(done.path)
        assert [*anew.stream()] == was
        assert anew.is_done()
        assert anew.changed_since_sealed() == []
        assert anew.set_aside_as("damaged") == {"gone": 0, "cut short": 11, "altered": 12}[how]

    def test_resume_carries_a_damaged_run_of_an_unfinished_folder_out_again(
        self, done: Folder, netstudy: Netstudy
    ) -> None:
        (done.path / "DONE").unlink()
        was = [*done.stream()]
        damage(done.path / SEGMENT, -1)
        (lost,) = Folder(done.path).damaged_runs()
        outcome = netstudy("run", done.path, "--resume")
        assert outcome.code == 0
        assert f"1 record was damaged, changed or missing, and is made again: {lost}" in outcome.err
        assert [*Folder(done.path).stream()] == was

    def test_inputs_that_changed_cannot_be_repeated(self, done: Folder, netstudy: Netstudy) -> None:
        sealed = (done.path / "DONE").read_bytes()
        with (done.path / "study.yaml").open("a") as study:
            study.write("# later\n")
        outcome = netstudy("run", done.path, "--resume")
        assert outcome.code == 2
        assert "study.yaml changed" in outcome.err
        assert "restore the files from a copy" in outcome.err
        assert (done.path / "DONE").read_bytes() == sealed
        assert "continue with" not in outcome.err, "that would be refused again"

    def test_a_study_file_that_is_gone_is_named_where_the_newest_folder_is_sought(
        self, done: Folder, study: Path, netstudy: Netstudy
    ) -> None:
        (done.path / "study.yaml").unlink()
        outcome = netstudy("run", study, "--resume")
        assert outcome.code == 2
        assert f"{done.path} cannot be continued: its study.yaml is gone" in outcome.err

    def test_records_that_are_all_gone_with_their_folder_are_made_again(
        self, done: Folder, netstudy: Netstudy
    ) -> None:
        was = [*done.stream()]
        shutil.rmtree(done.path / "records")
        outcome = netstudy("run", done.path, "--resume")
        assert outcome.code == 0
        assert "12 records were damaged, changed or missing" in outcome.err
        assert [*Folder(done.path).stream()] == was


class TestLinks:
    """A folder that somebody sent may hold links: it is refused by name, and nothing is written to
    where they lead."""

    @pytest.fixture
    def mine(self, here: Path) -> Path:
        mine = here / "mine"
        mine.mkdir()
        (mine / "file").write_text("of the user")
        return mine

    @pytest.mark.parametrize(
        "command",
        [
            ("report",),
            ("run", "--resume"),
            ("run", "--resume", "--dry-run"),
            ("export",),
            ("status",),
            ("compare", "small"),
        ],
        ids=" ".join,
    )
    @pytest.mark.parametrize(("name", "target"), [(".lock", "file"), ("figures", ".")])
    def test_the_folder_is_refused(
        self,
        done: Folder,
        mine: Path,
        netstudy: Netstudy,
        command: tuple[str, ...],
        name: str,
        target: str,
    ) -> None:
        path = done.path / name
        if path.exists():
            shutil.rmtree(path)
        path.symlink_to(mine / target)
        outcome = netstudy(command[0], done.path, *command[1:])
        assert outcome.code == 2
        assert f"{done.path} is refused: {name} in it is a link to {mine / target}" in outcome.err
        assert [one.name for one in mine.iterdir()] == ["file"]
        assert (mine / "file").read_text() == "of the user"

    def test_it_is_listed_and_can_be_removed(
        self, done: Folder, mine: Path, netstudy: Netstudy
    ) -> None:
        (done.path / ".lock").symlink_to(mine / "file")
        [row] = json.loads(netstudy("ls", "--json").out)
        assert row["state"] == "unreadable"
        assert netstudy("clean", done.path, "--yes").code == 0
        assert not done.path.exists()
        assert (mine / "file").read_text() == "of the user"

    def test_clean_removes_a_linked_leftover_and_nothing_that_it_leads_to(
        self, done: Folder, mine: Path, netstudy: Netstudy
    ) -> None:
        left = done.path.with_name(".0123.tmp")
        left.symlink_to(mine)
        assert netstudy("clean", "--yes").code == 0
        assert not left.is_symlink()
        assert [one.name for one in mine.iterdir()] == ["file"]

    def test_clean_of_a_link_to_a_folder_removes_the_link(
        self, done: Folder, here: Path, netstudy: Netstudy
    ) -> None:
        elsewhere = here / "elsewhere"
        done.path.rename(elsewhere)
        done.path.symlink_to(elsewhere)
        assert netstudy("status", done.path).code == 0
        assert netstudy("clean", done.path, "--yes").code == 0
        assert not done.path.is_symlink()
        assert Folder(elsewhere).is_done()

    def test_the_root_may_be_a_link_to_another_disk(
        self, done: Folder, here: Path, netstudy: Netstudy
    ) -> None:
        (here / "results").rename(here / "disk")
        (here / "results").symlink_to(here / "disk")
        for named in ("small", "results/small/latest"):
            assert netstudy("report", named).code == 0


class TestNamesFromElsewhere:
    def test_a_name_cannot_command_the_terminal(
        self, unfinished: Folder, netstudy: Netstudy
    ) -> None:
        plan = unfinished.path / "plan.jsonl"
        plan.write_text(plan.read_text().replace('"arista-7124s"', '"red\\u001b[31m\\u009b31m"'))
        out = netstudy("status", "small").out
        assert "switch=red␛[31m\ufffd31m" in out
        assert "\x1b" not in out
        told = netstudy("status", "small", "--json").out
        assert not {"\x1b", "\x9b"} & set(told)
        missing = json.loads(told)["missing"]
        assert any("red\x1b[31m\x9b31m" in run["treatment"] for run in missing)

    def test_nor_can_a_message(self, here: Path, netstudy: Netstudy) -> None:
        outcome = netstudy("validate", "no\x1b]0;study\x07.yaml")
        assert outcome.code == 2
        assert "no␛]0;study␇.yaml: no such file" in outcome.err


class TestLostFigures:
    def test_a_figure_that_the_renderer_fails_on_is_named(
        self, done: Folder, netstudy: Netstudy, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        failed: list[str] = []

        def drawn(wanted: str) -> str:
            failed.extend([wanted] if not failed else [])
            return rendering.LOST if wanted in failed else rendering.drawn_here([wanted])()[0]

        @contextmanager
        def failing() -> Iterator[rendering.Draw]:
            yield lambda wanted: lambda: [drawn(one) for one in wanted]

        monkeypatch.setattr(rendering, "drawn_beside", failing)
        outcome = netstudy("report", "small")
        assert outcome.code == 0
        [told] = [line for line in outcome.err.splitlines() if "not drawn" in line]
        match = re.fullmatch(
            r"netstudy: the figure (\S+) is not drawn, because the renderer failed on it", told
        )
        assert match is not None
        assert "Not drawn" in (done.path / "figures" / f"{match[1]}.svg").read_text()
        assert done.derived_changed() == []


class TestPlanIsMissing:
    @pytest.mark.parametrize(
        "command",
        [("report",), ("export",), ("status",), ("run", "--resume"), ("compare", "small")],
    )
    def test_a_named_folder_is_not_replaced_by_another(
        self, done: Folder, unfinished: Folder, netstudy: Netstudy, command: tuple[str, ...]
    ) -> None:
        (unfinished.path / "plan.jsonl").unlink()
        before = {path: path.stat().st_mtime_ns for path in done.path.rglob("*")}
        outcome = netstudy(command[0], unfinished.path, *command[1:])
        assert outcome.code == 2
        assert f"{unfinished.path} is a results folder" in outcome.err
        assert "plan.jsonl is missing" in outcome.err
        assert {path: path.stat().st_mtime_ns for path in done.path.rglob("*")} == before

    def test_the_folder_is_listed_and_can_be_removed(
        self, done: Folder, unfinished: Folder, netstudy: Netstudy
    ) -> None:
        (unfinished.path / "plan.jsonl").unlink()
        rows = json.loads(netstudy("ls", "--json").out)
        assert [(row["time"], row["state"]) for row in rows] == [
            (unfinished.path.name, "unreadable"),
            (done.path.name, "done"),
        ]
        assert netstudy("clean", unfinished.path, "--yes").code == 0
        assert not unfinished.path.exists()
        assert json.loads(netstudy("ls", "--json").out) == rows[1:]


class TestStatusAndLs:
    def test_status_of_a_finished_run(self, done: Folder, netstudy: Netstudy) -> None:
        assert netstudy("status").out == f"{done.path}: done, 12 of 12 runs\n"

    def test_status_of_an_unfinished_run(self, unfinished: Folder, netstudy: Netstudy) -> None:
        told = json.loads(netstudy("status", "small", "--json").out)
        missing = [run.id for run in unfinished.missing()]
        assert (told["state"], told["runs"], told["done"]) == ("unfinished", 12, 2)
        assert [run["run"] for run in told["missing"]] == missing
        shown = netstudy("status", "small").out
        assert f"missing  {missing[0]}" in shown
        assert f"netstudy run {told['folder']} --resume" in shown

    def test_status_of_a_finished_run_of_which_a_record_is_gone_says_how_to_make_it_again(
        self, done: Folder, netstudy: Netstudy
    ) -> None:
        (done.path / SEGMENT).unlink()
        shown = netstudy("status").out
        assert "changed, 0 of 12 runs" in shown
        assert f"{SEGMENT} changed or went missing" in shown
        assert f"continue with: netstudy run {done.path} --resume" in shown

    def test_status_of_a_finished_run_whose_study_was_edited_says_that_nothing_proves_it(
        self, done: Folder, netstudy: Netstudy
    ) -> None:
        with (done.path / "study.yaml").open("a") as study:
            study.write("# later\n")
        assert json.loads(netstudy("status", "--json").out)["state"] == "changed"
        shown = netstudy("status").out
        assert f"{done.path}: changed, 12 of 12 runs" in shown
        assert "study.yaml changed or went missing" in shown
        assert "continue with" not in shown, "that would be refused"

    def test_status_of_a_run_under_way(self, unfinished: Folder, netstudy: Netstudy) -> None:
        with unfinished.writing():
            assert json.loads(netstudy("status", "--json").out)["state"] == "running"

    def test_status_without_results(self, here: Path, netstudy: Netstudy) -> None:
        outcome = netstudy("status")
        assert outcome.code == 2
        assert "no results in results" in outcome.err

    def test_ls_lists_the_newest_first(
        self, done: Folder, unfinished: Folder, netstudy: Netstudy
    ) -> None:
        rows = json.loads(netstudy("ls", "--json").out)
        assert [(row["study"], row["done"], row["runs"], row["state"]) for row in rows] == [
            ("small", 2, 12, "unfinished"),
            ("small", 12, 12, "done"),
        ]
        shown = netstudy("ls").out.splitlines()
        assert [row["time"] in line for row, line in zip(rows, shown[1:], strict=True)] == [
            True
        ] * 2

    def test_ls_shows_a_folder_that_cannot_be_read_among_the_others(
        self, done: Folder, unfinished: Folder, netstudy: Netstudy
    ) -> None:
        (unfinished.path / "plan.jsonl").write_text("{}")
        rows = json.loads(netstudy("ls", "--json").out)
        assert [row["state"] for row in rows] == ["unreadable", "done"]
        assert netstudy("ls").code == 0

    def test_ls_tells_a_folder_whose_files_changed_after_it_was_done(
        self, done: Folder, netstudy: Netstudy
    ) -> None:
        with (done.path / SEGMENT).open("ab") as segment:
            segment.write(b"\n")
        (row,) = json.loads(netstudy("ls", "--json").out)
        assert (row["done"], row["state"]) == (12, "changed")

    def test_a_derived_file_that_was_edited_is_named(
        self, done: Folder, netstudy: Netstudy
    ) -> None:
        """The records are as they were, so the folder is done, and its report can be made anew."""
        for name in ("report.html", "cells.csv"):
            with (done.path / name).open("a") as file:
                file.write("better numbers\n")
        told = "cells.csv, report.html changed or went missing since the folder was sealed"
        assert netstudy("ls").out.splitlines()[-1] == f"{done.path}: {told}"
        assert netstudy("status").out.splitlines() == [
            f"{done.path}: done, 12 of 12 runs",
            f"  {told}",
            f"  write them anew with: netstudy report {done.path}",
        ]
        [row] = json.loads(netstudy("ls", "--json").out)
        assert (row["state"], row["derived_changed"]) == ("done", ["cells.csv", "report.html"])
        assert json.loads(netstudy("status", "--json").out)["derived_changed"] == [
            "cells.csv",
            "report.html",
        ]
        assert netstudy("report", "small").code == 0
        assert netstudy("status").out == f"{done.path}: done, 12 of 12 runs\n"

    def test_ls_without_results(self, here: Path, netstudy: Netstudy) -> None:
        assert json.loads(netstudy("ls", "--json").out) == []


class TestClean:
    def test_only_what_is_unfinished_is_removed(
        self, done: Folder, unfinished: Folder, netstudy: Netstudy
    ) -> None:
        half = done.path / "figures" / ".drops.svg.00000000.tmp"
        half.touch()
        outcome = netstudy("clean", "--yes")
        assert outcome.code == 0
        assert not unfinished.path.exists()
        assert not half.exists()
        assert done.changed_since_sealed() == []
        assert Path("results/small/latest").resolve() == done.path.resolve()

    def test_dry_run_removes_nothing(self, unfinished: Folder, netstudy: Netstudy) -> None:
        outcome = netstudy("clean", "--dry-run")
        assert outcome.code == 0
        assert f"would remove results/small/{unfinished.path.name}" in outcome.out
        assert unfinished.path.is_dir()

    def test_where_nobody_can_be_asked_nothing_is_removed(self, unfinished: Folder) -> None:
        process = start("clean")
        _, told = process.communicate()
        assert process.returncode == 2
        assert "--yes" in told
        assert unfinished.path.is_dir()

    def test_a_finished_run_is_removed_when_it_is_named(
        self, done: Folder, netstudy: Netstudy
    ) -> None:
        assert netstudy("clean", "--yes").code == 0
        assert done.is_done()
        told = json.loads(netstudy("clean", done.path, "--yes", "--json").out)
        assert told["removed"] == [str(done.path)]
        assert list(Path("results/small").iterdir()) == []

    def test_a_link_means_the_folder_that_it_leads_to(
        self, done: Folder, netstudy: Netstudy
    ) -> None:
        assert netstudy("clean", "results/small/latest", "--yes").code == 0
        assert list(Path("results/small").iterdir()) == []

    def test_a_study_is_not_a_run(self, done: Folder, netstudy: Netstudy) -> None:
        assert netstudy("clean", "small", "--yes").code == 2
        assert done.is_done()

    def test_what_is_being_written_is_left_alone(
        self, unfinished: Folder, netstudy: Netstudy
    ) -> None:
        with unfinished.writing():
            assert json.loads(netstudy("clean", "--yes", "--json").out)["removed"] == []
            assert netstudy("clean", unfinished.path, "--yes").code == 2
        assert unfinished.path.is_dir()
