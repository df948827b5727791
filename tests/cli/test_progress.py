"""Progress: a live bar on a terminal, plain lines where there is none or no colour is wanted."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from netstudy.cli._terminal import Meter, Reached, meter, phases
from netstudy.wire import ProgressRecord, RunUnderWay
from tests.cli.conftest import start

ESCAPE = "\x1b["


def on_a_terminal(study: Path, **environment: str) -> str:
    """What a run shows on a terminal."""
    ours, theirs = pty.openpty()
    columns = int(environment.get("COLUMNS", "120"))
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "netstudy", "run", study],
        env={**os.environ, "TERM": "xterm", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # EIO: the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    process.wait()
    return shown.decode()


@pytest.fixture(autouse=True)
def crashing_engine(here: Path, fake_engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine ends early: progress is shown, and no report is made."""
    monkeypatch.setenv("FAKE_ENGINE", "crash:11")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_a_terminal_has_a_live_bar(study: Path) -> None:
    shown = on_a_terminal(study)
    assert ESCAPE in shown
    assert "7/12 runs" in shown
    assert "packets/s" in shown


def test_a_narrow_terminal_has_the_runs_and_the_times(study: Path) -> None:
    shown = on_a_terminal(study, COLUMNS="40")
    assert re.search(r"7/12, [\w ]+ elapsed, [\w ]+ left", shown)
    assert "…" not in shown


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_plain_terminal_has_lines(study: Path, environment: dict[str, str]) -> None:
    shown = on_a_terminal(study, **environment)
    assert ESCAPE not in shown
    assert "\n6/12 runs, " in shown.replace("\r", "")


def test_without_a_terminal_there_are_some_lines_and_nothing_on_standard_output(
    study: Path,
) -> None:
    out, told = start("run", study).communicate()
    lines = [line for line in told.splitlines() if "packets/s" in line]
    assert [line.partition(" ")[0] for line in lines] == [
        f"{done}/12" for done in (2, 3, 4, 5, 6, 8, 9, 10, 11)
    ]
    assert all(line.endswith(" left") for line in lines)
    assert out == ""


class Spy:
    """A display that keeps what it is shown."""

    def __init__(self) -> None:
        self.seen: list[Reached] = []

    def show(self, reached: Reached) -> None:
        self.seen.append(reached)

    def begin(self, done: int, runs: int, title: str) -> None:
        raise AssertionError("no further round begins")


def reached(record: ProgressRecord, done_before: int = 0, after_s: float = 10.0) -> Reached:
    """What is shown of a progress record so many seconds after the start."""
    spy = Spy()
    meter = Meter(spy, done_before)
    meter.start_s -= after_s
    meter.on_progress(record)
    (found,) = spy.seen
    return found


def test_runs_that_were_there_before_are_counted_as_done() -> None:
    record = ProgressRecord(runs_done=2, runs=16, packets=50, packets_planned=400)
    found = reached(record, done_before=30)
    assert found.done == 32
    assert found.under_way == ""


def test_the_share_is_that_of_the_packets_where_they_are_known() -> None:
    record = ProgressRecord(runs_done=1, runs=2, packets=100, packets_planned=400)
    found = reached(record)
    assert found.share == 0.25
    assert found.packets_per_s == pytest.approx(10, rel=0.01)
    assert found.left_s == pytest.approx(30, rel=0.01)


def test_the_share_is_that_of_the_runs_where_packets_are_not_known() -> None:
    """Runs that last for a time: nobody knows their packets before they have been made."""
    run = RunUnderWay(done=5_000, of=10_000)
    record = ProgressRecord(runs_done=1, runs=4, packets=0, packets_planned=0, under_way=run)
    found = reached(record)
    assert found.share == 0.375
    assert found.left_s == pytest.approx(10 / 0.375 * 0.625, rel=0.01)
    assert found.under_way == "50 % of this run"


def test_nothing_done_yet_tells_no_remaining_time(capsys: pytest.CaptureFixture[str]) -> None:
    record = ProgressRecord(runs_done=0, runs=4, packets=0, packets_planned=0)
    assert reached(record).left_s is None
    with meter(runs=4, done_before=0) as shown:
        shown.on_progress(record)
        shown.on_progress(record.model_copy(update={"runs_done": 1}))
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"1/4 runs, [\w ]+ elapsed, [\w ]+ left", line), "no speed without packets"


def test_elapsed_and_remaining_time_are_told_apart(study: Path) -> None:
    _, told = start("run", study).communicate()
    (line, *_) = (line for line in told.splitlines() if "packets/s" in line)
    assert re.search(r", [\w ]+ elapsed, [\w ]+ left$", line)


def test_the_report_tells_what_it_is_doing(capsys: pytest.CaptureFixture[str]) -> None:
    with phases() as on_phase:
        on_phase("analysing")
        on_phase("drawing")
    assert capsys.readouterr().err.splitlines() == ["report: analysing", "report: drawing"]


def test_a_long_run_moves_before_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    def sign(iterations_done: int, packets: int) -> ProgressRecord:
        run = RunUnderWay(done=iterations_done, of=2_000)
        return ProgressRecord(
            runs_done=0, runs=1, packets=packets, packets_planned=1_000, under_way=run
        )

    with meter(runs=1, done_before=0) as shown:
        for part in range(1, 5):
            shown.on_progress(sign(100 * part, 50 * part))
    told = capsys.readouterr().err.splitlines()

    assert [line.split(", ")[:2] for line in told] == [
        ["0/1 runs", "10 % of this run"],
        ["0/1 runs", "20 % of this run"],
    ]
