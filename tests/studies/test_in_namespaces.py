"""The studies that have a variant for namespaces can be carried out in namespaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.cli import invoke
from tests.skips import in_namespaces

STUDIES = Path(__file__).parents[2] / "studies"
WITH_NAMESPACES = sorted(
    path.parent for path in STUDIES.rglob("study.yaml") if "\n  netns:" in path.read_text()
)

pytestmark = [in_namespaces, pytest.mark.quiet]


@pytest.mark.parametrize(
    "study", WITH_NAMESPACES, ids=lambda path: path.relative_to(STUDIES).as_posix()
)
def test_nothing_of_it_is_unsupported(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["plan", str(study), "--testbed=netns", "--quick"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if line.startswith("note")] == []


def test_what_is_unsupported_is_told_before_it_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    """At its whole rates, which the kernel's queues do not keep, trade's offload has no effect."""
    assert invoke(["plan", str(STUDIES / "trade"), "--testbed=netns", "--scale=1"]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note")]
    assert any("leave checksum_offload out" in line for line in told)
