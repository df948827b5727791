"""From nothing to a report, with the real programs and the network, as a user does it."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, tracked_files

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository's files in another place, with a space in its path; nothing set up."""
    folder = tmp_path_factory.mktemp("a user's") / "net study"
    for path in tracked_files():
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    return folder


def call(clone: Path, *command: str) -> str:
    """Call a command in the clone, with an empty home; it must succeed. Its standard output."""
    home = clone.parent / "home"
    home.mkdir(exist_ok=True)
    rustup = os.environ.get("RUSTUP_HOME", str(Path("~/.rustup").expanduser()))
    done = subprocess.run(
        command,
        cwd=clone,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "RUSTUP_HOME": rustup},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(home.iterdir()) == [], "set-up changes nothing outside the checkout"
    return done.stdout


def test_a_fresh_clone_is_set_up_and_runs_a_study(clone: Path) -> None:
    call(clone, "make", "build")
    assert "netstudy" in call(clone, ".venv/bin/netstudy", "--version")

    *_, report, further = call(clone, "make", "run").strip().splitlines()
    assert (clone / report.removeprefix("report: ")).is_file()
    assert further == "the whole study: make study"

    exported = call(clone, ".venv/bin/netstudy", "export", "incast", "--csv")
    rows = list(csv.DictReader(exported.splitlines()))
    assert {row["switch"] for row in rows} == {"arista-7124s", "nexus-5010"}


def test_setting_up_again_says_and_does_nothing(clone: Path) -> None:
    call(clone, "make", "build")

    assert call(clone, "make", "build") == ""
