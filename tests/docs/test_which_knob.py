"""The page of knobs: every snippet can be run and turns the knob of its section."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from netstudy.cli import invoke
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "guide" / "which-knob.md"
KNOBS = {
    "ECN threshold": ("threshold", "ecn_threshold"),
    "Buffer": ("buffer", "port_buffer"),
    "Minimum RTO": ("min_rto", "min_rto"),
    "MTU": ("mtu", "mtu"),
    "Offload": ("burst", "offload_burst"),
    "PAUSE": ("high", "pause_high"),
}
"""Heading of a section -> the factor or field that varies, and the key that it sets."""


TRIED = re.findall(r"^\|[^|]+\| `(studies/[^`]+)` \| `([^`]+)` \|$", PAGE.read_text(), re.M)
"""A study and the `--set` that the page tries on it."""


def sections() -> dict[str, str]:
    """Heading -> text, of every section of the page."""
    _, *parts = re.split(r"^## ", PAGE.read_text(), flags=re.M)
    return {heading: text for heading, _, text in (part.partition("\n") for part in parts)}


def study_in(section: str) -> str:
    found = re.search(r"^```yaml\n(.*?)^```$", section, re.M | re.S)
    assert found, "each section has a study"
    return found[1]


def test_the_page_has_a_section_for_each_knob() -> None:
    assert list(sections()) == list(KNOBS)


@pytest.mark.parametrize("heading", KNOBS)
def test_a_section_has_a_study_that_turns_its_knob(heading: str) -> None:
    study, (varied, key) = study_in(sections()[heading]), KNOBS[heading]
    assert re.search(rf'\b{key}: "\$\{{{varied}\}}"', study)
    assert "replicates: 5" in study


@pytest.mark.parametrize("heading", KNOBS)
def test_a_section_says_what_to_look_at_and_names_the_trap(heading: str) -> None:
    text = sections()[heading]
    assert "**Look at**" in text
    assert "**The trap:**" in text


@pytest.mark.parametrize("heading", KNOBS)
def test_a_study_of_the_page_is_valid_and_can_be_planned(
    heading: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.yaml").write_text(study_in(sections()[heading]))
    assert invoke(["validate", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path}: ok\n"
    assert invoke(["plan", str(tmp_path)]) == 0
    assert "5 replicates of each" in capsys.readouterr().out


def test_the_page_has_rarer_keys_to_try() -> None:
    assert len(TRIED) == 17


@pytest.mark.parametrize(("study", "change"), TRIED)
def test_a_rarer_key_can_be_tried_as_the_page_says(
    study: str, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["plan", str(ROOT / study), "--set", change]) == 0, capsys.readouterr().err
