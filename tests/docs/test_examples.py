"""What a page tells its reader to type works, and shows what the page shows.

A page's `console` blocks are one session, in a folder that has the repository's studies. Output is
compared where the page shows some; a line `…` stands for any lines, and `…` in a line for any text.
A block that ends with an exit code other than 0 says so after its language: `console exit=2`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.docs.pages import ROOT, Command, Fence, commands, fences, pages

pytestmark = pytest.mark.engine

EXECUTED = {"netstudy", "cat", "ls", "head", "cmp"}
TO_READ = {"git", "cd", ".", "export", "tools/lab"}
"""Shown to the reader, for the reader's own shell; `tools/lab` has tests of its own."""


def session(page: Path) -> list[Command]:
    """Every command of a page's console blocks."""
    return [
        command
        for fence in fences(page)
        if fence.language == "console"
        for command in commands(fence)
    ]


def with_studies() -> list[Path]:
    """The pages that show a whole study file."""
    return [page for page in pages() if any(map(is_study, fences(page)))]


def is_study(fence: Fence) -> bool:
    """Whether a block is a whole study file, not an excerpt."""
    return fence.language == "yaml" and re.search(r"^study:", fence.text, re.M) is not None


SLOW = ("ten-questions.md", "results-folder.md")


def with_commands() -> list[Path]:
    """The pages that have something to type."""
    return [page for page in pages() if session(page)]


def run(command: Command, folder: Path) -> subprocess.CompletedProcess[str]:
    """Execute a command as a reader's shell would, with this environment's netstudy."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(folder),
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",  # both outputs in the order of a terminal
    }
    return subprocess.run(
        ["sh", "-c", command.text],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def matches(shown: tuple[str, ...], printed: str) -> bool:
    """Whether the output is what the page shows, `…` standing for whatever the page leaves out."""
    pattern = "".join(_line(line) for line in shown if line)
    # A slow machine says how far the plan is, and no page can know that.
    lines = [line for line in printed.splitlines() if not re.match(r"plan: [\d,]+ of ", line)]
    text = "".join(f"{line.rstrip()}\n" for line in lines if line.strip())
    return re.fullmatch(pattern, text) is not None


def _line(line: str) -> str:
    if line.strip() == "…":
        return r"(?:.*\n)*"
    return re.escape(line.rstrip()).replace("…", ".*") + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a reader stands: a folder with the repository's studies, and nothing else of it."""
    (tmp_path / "studies").symlink_to(ROOT / "studies")
    return tmp_path


def _some_slow(page: Path) -> ParameterSet:
    """The pages whose commands take half a minute are slow."""
    marks = [pytest.mark.slow] if page.name in SLOW else []
    return pytest.param(page, marks=marks, id=str(page.relative_to(ROOT)))


@pytest.mark.parametrize("page", [_some_slow(page) for page in with_commands()])
def test_a_pages_commands_do_what_it_shows(page: Path, folder: Path) -> None:
    for command in session(page):
        if command.program not in EXECUTED:
            continue
        done = run(command, folder)
        assert done.returncode == command.exit_code, f"{command.where}\n{done.stdout}"
        assert not command.shown or matches(command.shown, done.stdout), (
            f"{command.where} shows other than what was printed:\n{done.stdout}"
        )


@pytest.mark.parametrize("page", with_commands(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_other_command_is_known(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for command in session(page):
        if command.program == "make":
            words = [word for word in command.text.split()[1:] if "=" not in word]
            assert targets.issuperset(words), command.where
        else:
            assert command.program in EXECUTED | TO_READ, command.where


@pytest.mark.parametrize("page", with_studies(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_pages_studies_are_valid(page: Path, tmp_path: Path) -> None:
    from netstudy.study import load

    for fence in filter(is_study, fences(page)):
        written = tmp_path / "study.yaml"
        written.write_text(fence.text)
        assert load(written).question, fence.where


def test_output_is_compared_line_by_line() -> None:
    assert matches(("a", "…", "z: … ms"), "a\nb\nc\nz: 12 ms\n")
    assert not matches(("a", "z"), "a\nb\nz\n")
    assert not matches(("a",), "a\nb\n")
    assert matches(("a",), "a  \n\n")
