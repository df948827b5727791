"""What a copy of a process does beside it, and charts that it draws."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread

import pytest

from netstudy.beside import beside

DRAWN = """
import json, os, sys
from netstudy.report import rendering

rendering.compact = lambda drawing: f"{os.getpid()} {drawing}"
charts = [json.dumps({"data": {"values": []}, "mark": "point", "title": str(n)}) for n in range(5)]

def drawn_by():
    with rendering.drawn_beside() as draw:
        drawings = draw(charts)()
    assert all(f">{n}<" in drawing for n, drawing in enumerate(drawings)), drawings
    return [drawing.split()[0] for drawing in drawings]

here, first = str(os.getpid()), drawn_by()
processors = len(os.sched_getaffinity(0))
assert len({*first}) == 1 and (here not in first or processors == 1), first
rendering.drawn_here(charts[:1])()
assert drawn_by() == [here] * 5, "a copy of a process that draws cannot draw"
"""

DIES = """
import json, os, signal
from netstudy.report import rendering

signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as in the command `netstudy`

def compact(drawing):
    if ">dies<" in drawing:
        os.abort()
    if ">fails<" in drawing:
        raise ValueError("no XML")
    return drawing

rendering.compact = compact

def chart(title):
    return json.dumps({"data": {"values": []}, "mark": "point", "title": title})

with rendering.drawn_beside() as draw:
    waiting = [draw([*map(chart, titles)]) for titles in (["a", "dies", "b"], [], ["c", "fails"])]
    found = [one() for one in waiting]
    later = draw([*map(chart, ["dies", "d"])])()
    image = draw([later[1]])()
    [none] = draw(["<svg"])()
assert [[">" in drawing for drawing in one] for one in found] == [
    [True, False, True], [], [True, False]
], found
assert [bool(drawing) for drawing in later] == [False, True]
assert image[0] and none == rendering.LOST
"""

WAITS = """
import os, sys, time
from netstudy.beside import beside

def tell():
    print(os.getpid(), flush=True)

with beside(tell, str.upper):
    time.sleep(60)
"""


def test_charts_are_drawn_by_a_copy_unless_the_library_already_runs() -> None:
    subprocess.run([sys.executable, "-c", DRAWN], check=True, timeout=60)


def test_a_renderer_that_dies_costs_the_one_drawing() -> None:
    done = subprocess.run([sys.executable, "-c", DIES], check=False, timeout=60)
    assert done.returncode == 0


@pytest.mark.parametrize("pieces", [[], ["a"], list("abcdefg"), ["long" * 100_000] * 3])
def test_pieces_come_back_in_their_order_from_another_process(pieces: list[str]) -> None:
    with beside(lambda: None, lambda piece: f"{piece} {os.getpid()}") as hand_over:
        for _ in range(2):
            done = [result.split() for result in hand_over(pieces)()]
            assert [piece for piece, _ in done] == pieces
            assert str(os.getpid()) not in [worker for _, worker in done]


def test_pieces_can_be_handed_over_before_earlier_ones_are_waited_for() -> None:
    long = "long" * 1_000_000  # more than a pipe holds
    with beside(lambda: None, str.upper) as hand_over:
        waiting = [hand_over([f"{long}{number}"]) for number in range(3)]
        for number in (1, 0, 2, 1):
            assert waiting[number]() == [f"{long.upper()}{number}"]


def test_handing_over_does_not_wait_for_earlier_pieces(tmp_path: Path) -> None:
    pipes = {name: tmp_path / name for name in ("first", "other")}
    for pipe in pipes.values():
        os.mkfifo(pipe)
    handed, in_time = Event(), []

    def work(piece: str) -> str:
        return pipes[piece[:5]].read_text()  # waits until somebody writes

    def let_go() -> None:
        in_time.append(handed.wait(timeout=30))
        for name, pipe in pipes.items():
            pipe.write_text(f"{name} done")

    with beside(lambda: None, work) as hand_over:
        writer = Thread(target=let_go)
        writer.start()
        long = "long" * 1_000_000  # more than a pipe of processes holds
        waiting = [hand_over([f"{name}{long}"]) for name in pipes]
        handed.set()
        assert [done() for done in waiting] == [["first done"], ["other done"]]
        writer.join()
    assert in_time == [True]


def test_what_a_copy_cannot_finish_is_worked_on_here(capfd: pytest.CaptureFixture[str]) -> None:
    own = os.getpid()

    def work(piece: str) -> str:
        if os.getpid() != own:
            os._exit(1)
        if piece == "wrong":
            raise ValueError("seen")
        return piece.upper()

    with beside(lambda: None, work) as hand_over:
        assert hand_over(["a", "b"])() == ["A", "B"]
        assert hand_over(["c"])() == ["C"]
        with pytest.raises(ValueError, match="seen"):
            hand_over(["d", "wrong"])()

    def fails(_piece: str) -> str:
        raise ValueError("seen")

    with beside(lambda: None, fails) as hand_over, pytest.raises(ValueError, match="seen"):
        hand_over(["a"])()
    assert capfd.readouterr().err == "", "the copy tells nothing of it"


def test_a_copy_ends_with_a_process_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", WAITS], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        copy = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.wait()
    give_up_at = time.monotonic() + 30
    while _runs(copy) and time.monotonic() < give_up_at:
        time.sleep(0.01)
    assert not _runs(copy)


def _runs(process: int) -> bool:
    """Whether a process is there, other than as one that nobody has waited for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
