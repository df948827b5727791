"""The reference says what the product says of itself."""

from __future__ import annotations

import netstudy
from netstudy.analysis.workloads import METRICS
from netstudy.cli import app
from tests.docs.pages import ROOT
from tools.generate import outdated


def test_generated_pages_are_current() -> None:
    assert outdated() == [], "make docs"


def test_every_verb_metric_and_public_name_has_its_place() -> None:
    verbs = (ROOT / "docs/reference/verbs.md").read_text()
    metrics = (ROOT / "docs/reference/metrics.md").read_text()

    python = (ROOT / "docs/reference/python.md").read_text()
    public = [name for name in netstudy.__all__ if name != "__version__"]
    headings = {line.removeprefix("## ").removeprefix("netstudy.") for line in python.splitlines()}

    assert set(public) <= headings
    assert [v.name for v in app.registered_commands if f"\n## {v.name}\n" not in verbs] == []
    assert [m.name for m in METRICS if f"| `{m.name}` |" not in metrics] == []
