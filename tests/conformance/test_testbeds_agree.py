"""The quick forms of two scenarios, simulated and with this kernel's TCP, held against each other.

Skipped, with the reason, where the kernel makes no namespaces for us, and where the machine is too
busy for the switch to keep to its times: such a run says so itself, and measures the machine.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from netstudy.analysis.study_result import analyse
from netstudy.cli import invoke
from netstudy.store import Folder, Results
from netstudy.testbed.netns.testbed import Netns
from tests.skips import or_skip

pytestmark = [pytest.mark.quiet, pytest.mark.slow]

STUDIES = Path(__file__).parents[2] / "studies/conformance"
TRIES = 3
"""Runs of a scenario before the machine is said to be too busy."""
MEDIAN_PCT = {"one-flow": 3, "incast-calm": 5}
"""How far apart median completion times may be on a machine that has other things to do: the bands
of the studies are those of a quiet one. One stalled iteration does not change a median."""


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    with or_skip():
        Netns().check()


def carried_out(study: Path, testbed: str, results: Path) -> Folder:
    """A folder of the study's short form; its runs may be invalid."""
    asked = ["run", str(study), f"--testbed={testbed}", "--quick", f"--results={results}"]
    code = invoke(asked)
    folders = Results(results).folders()
    assert folders, f"{' '.join(asked)} ended with {code}"
    return folders[0]


def measured(study: Path, results: Path) -> Folder:
    """A folder in which every run counts."""
    for attempt in range(TRIES):
        folder = carried_out(study, "netns", results / f"netns-{attempt}")
        problems = [problem for _, problem in analyse(folder).cells.problems]
        if not problems:
            return folder
        assert all("keeps to its times" in problem.reason for problem in problems), problems
    pytest.skip(f"the machine is too busy: {problems[0].reason}")


@pytest.mark.parametrize("name", MEDIAN_PCT)
def test_what_loses_nothing_takes_as_long_on_both_testbeds(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = STUDIES / f"{name}.yaml"
    simulated = carried_out(study, "sim", tmp_path / "sim")
    real = measured(study, tmp_path)
    capsys.readouterr()
    invoke(["compare", str(simulated.path), str(real.path), "--json"])
    cells: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["cells"]
    assert len(cells) == 2
    for cell in cells:
        metrics = cell["metrics"]
        assert metrics["drops_per_iteration"]["outcome"] == "inside", cell["treatment"]
        median = metrics["completion_ms_p50"]
        assert abs(median["difference_pct"]) <= MEDIAN_PCT[name], (cell["treatment"], median)
