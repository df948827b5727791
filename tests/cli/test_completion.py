"""Shell completion of values, as a shell asks for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import SMALL_STUDY
from tests.report.results import small_incast


def completed(*words: str) -> list[str]:
    """What zsh is offered for the last word."""
    line = " ".join(["netstudy", *words])
    told = subprocess.run(
        [sys.executable, "-c", "from netstudy.cli import app; app(prog_name='netstudy')"],
        env={**os.environ, "_NETSTUDY_COMPLETE": "complete_fish", "_TYPER_COMPLETE_ARGS": line,
             "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert told.stderr == ""
    return [one.partition("\t")[0] for one in told.stdout.splitlines() if one]


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["run", "study.yaml", "--testbed", "n"], ["netns", "netns-kernel"]),
        (["run", "study.yaml", "--only", "s"], ["switch=", "servers="]),
        (["plan", ".", "--only", "servers=1,"], ["servers=1,3", "servers=1,6"]),
        (["run", "nowhere", "--only", "s"], []),
        (["init", "mine", "--like", "s"], ["sweep"]),
        (["init", "mine", "--from", "examples/m"], ["examples/minimum-rto", "examples/mtu"]),
        (["export", "--samples", "s"], ["second", "statistics", "series"]),
        (["profiles", "nex"], ["nexus-5010"]),
    ],
)
def test_values_are_offered(words: list[str], offered: list[str]) -> None:
    assert completed(*words) == offered


@pytest.mark.parametrize("verb", ["export", "report", "status", "compare"])
def test_studies_with_results_are_offered(
    here: Path, verb: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = small_incast(tmp_path_factory.mktemp("made"))
    (here / "results").symlink_to(made.path.parents[1])
    assert completed(verb, "i") == ["incast"]


def test_a_study_that_cannot_be_read_prints_nothing_into_the_prompt(here: Path) -> None:
    (here / "study.yaml").write_text(SMALL_STUDY + "nonsense: 1\n")
    assert completed("run", "study.yaml", "--only", "s") == []
