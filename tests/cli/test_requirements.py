"""Exit code 1: the work was done, and what the study requires is missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netstudy.store import Results
from tests.cli.conftest import SMALL_STUDY, Netstudy

pytestmark = pytest.mark.usefixtures("engine")


def with_requirement(study: Path, condition: str) -> Path:
    study.write_text(f"{SMALL_STUDY}require: [{condition}]\n")
    return study


def test_a_run_whose_requirements_are_met_ends_with_0(study: Path, netstudy: Netstudy) -> None:
    outcome = netstudy("run", with_requirement(study, "completion_ms_mean < 100000"))
    assert outcome.code == 0
    assert "✓ completion_ms_mean < 100 s at every cell: worst " in outcome.out


def test_a_run_that_misses_one_ends_with_1_and_is_done(study: Path, netstudy: Netstudy) -> None:
    outcome = netstudy("run", with_requirement(study, "completion_ms_mean < 0.01"))
    assert outcome.code == 1
    assert "✗ completion_ms_mean < 10 µs at every cell: worst " in outcome.out
    assert Results(Path("results")).folders()[0].is_done()


def test_it_is_missed_again_whenever_it_is_asked(study: Path, netstudy: Netstudy) -> None:
    netstudy("run", with_requirement(study, "completion_ms_mean < 0.01"))
    folder = Results(Path("results")).folders()[0].path
    assert netstudy("run", folder, "--resume").code == 1
    again = netstudy("report", folder, "--json")
    assert again.code == 1
    assert json.loads(again.out)["requirements"][0]["outcome"] == "missed"
    assert netstudy("report", folder, "-o", "elsewhere").code == 1


def test_json_has_each_requirement(study: Path, netstudy: Netstudy) -> None:
    outcome = netstudy("run", with_requirement(study, "completion_ms_mean < 0.01"), "--json")
    (required,) = json.loads(outcome.out)["requirements"]
    assert (required["that"], required["cells"]) == ("completion_ms_mean < 0.01", 6)


def test_the_short_form_does_not_ask_for_what_it_leaves_out(
    study: Path, netstudy: Netstudy
) -> None:
    condition = "{that: completion_ms_mean < 0.01, at: {servers: 6}}"
    assert netstudy("run", with_requirement(study, condition), "--quick").code == 0
