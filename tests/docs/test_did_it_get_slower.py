"""The workflow on the page "Did my change make it slower?" runs here as it does on GitHub."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.cli.conftest import SMALL_STUDY
from tests.docs.pages import ROOT, fences

PAGE = ROOT / "docs/guide/did-it-get-slower.md"
ON_GITHUB = {"Install netstudy"}
"""Steps of which a test needs no copy: netstudy is here."""
ONE_CELL = SMALL_STUDY.replace("[arista-7124s, nexus-5010]", "[nexus-5010]").replace(
    "servers: [1, 3, 6]", "servers: [6]"
)


def workflow() -> dict[str, Any]:
    """The page's workflow, read by YAML 1.2, in which `on` is text."""
    (fence,) = (one for one in fences(PAGE) if one.text.startswith("name:"))
    loaded: dict[str, Any] = YAML(typ="safe", pure=True).load(fence.text)
    return loaded


def steps() -> list[dict[str, Any]]:
    (job,) = workflow()["jobs"].values()
    found: list[dict[str, Any]] = job["steps"]
    return found


def shell(step: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    """A step as GitHub's shell carries it out: bash -e."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_step_has_a_name_and_either_a_script_or_an_action() -> None:
    assert workflow()["on"] == "pull_request"
    for step in steps():
        assert step["name"]
        assert ("run" in step) != ("uses" in step), step["name"]


@pytest.mark.engine
@pytest.mark.slow
def test_a_slower_pull_request_fails_and_its_summary_begins_with_the_answer(
    tmp_path: Path,
) -> None:
    for name, delay in (("base", "1 us"), ("new", "20 us")):
        (tmp_path / name / "perf").mkdir(parents=True)
        changed = ONE_CELL.replace("delay: 1 us", f"delay: {delay}")
        changed = re.sub(r"replicates: 2\ncompare: .*", "replicates: 5\nnoise: 2 %", changed)
        (tmp_path / name / "perf" / "study.yaml").write_text(re.sub(r"quick:[\s\S]*", "", changed))
    codes = {}
    for step in steps():
        if "run" in step and step["name"] not in ON_GITHUB:
            done = shell(step, tmp_path)
            codes[step["name"]] = done.returncode
            assert step["name"] == "Compare" or done.returncode == 0, done.stderr
    assert codes["Compare"] == 1
    assert (tmp_path / "summary.md").read_text().startswith("**NEW is slower than BASE in 1 of 1")
    kept = next(step for step in steps() if "upload-artifact" in step.get("uses", ""))
    for pattern in kept["with"]["path"].split():
        assert list(tmp_path.glob(pattern)), pattern
