"""A study may start a program: it is shown beforehand, and can be refused."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path

import pytest

from netstudy.cli._programs import command_text
from netstudy.errors import StudyError
from netstudy.store import Folder
from netstudy.testbed.netns.testbed import Netns
from tests.cli.conftest import CHECKOUT, Netstudy
from tests.report.results import results

WEB = CHECKOUT / "studies" / "examples" / "web-application"
BEGINS = "python3 -u -c 'import http.server as h; "


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A testbed that looks at the machine and then goes no further: nothing is started."""

    def preflight(self: Netns, *_: object) -> None:
        raise StudyError("as far as the preflight")

    monkeypatch.setattr(Netns, "preflight", preflight)


@pytest.fixture
def unfinished(here: Path) -> Folder:
    """Results of the study in namespaces, all of whose runs are missing."""
    return results(here, WEB, testbed="netns", variant="netns", maker=lambda _: None)


def test_validate_shows_the_program(here: Path, netstudy: Netstudy) -> None:
    assert f"  starts: {BEGINS}" in netstudy("validate", WEB).out
    [found] = json.loads(netstudy("validate", WEB, "--json").out)
    [command] = found["starts"]
    assert command[:3] == ["python3", "-u", "-c"]


def test_validate_shows_the_programs_of_every_form(here: Path, netstudy: Netstudy) -> None:
    text = (WEB / "study.yaml").read_text()
    old = "  netns:\n    set: {"
    assert text.count(old) == 1
    path = "workload.transactions.application.start.0"
    quick = f"quick: {{set: {{{path}: quick}}}}"
    changed = text.replace(old, f"  netns:\n    set: {{{path}: other, ")
    changed = changed.replace("    quick: *quick", f"    {quick}")
    (here / "study.yaml").write_text(changed)
    [found] = json.loads(netstudy("validate", "study.yaml", "--json").out)
    assert found["ok"], found["errors"]
    assert [command[0] for command in found["starts"]] == ["python3", "other", "quick"]


def test_plan_shows_it(here: Path, netstudy: Netstudy) -> None:
    assert f"starts   {BEGINS}" in netstudy("plan", WEB, "--testbed", "netns").out


def test_a_study_without_a_program_shows_none(study: Path, netstudy: Netstudy) -> None:
    assert "starts" not in netstudy("validate", study).out + netstudy("plan", study).out
    assert netstudy("run", study, "--no-start", "--dry-run").code == 0


@pytest.mark.parametrize("options", [[], ["--dry-run"], ["--testbed", "netns"]])
def test_it_is_refused_where_none_is_wanted(
    here: Path, netstudy: Netstudy, options: list[str]
) -> None:
    outcome = netstudy("run", WEB, "--no-start", *options)
    assert outcome.code == 2
    assert "the study starts a program, and --no-start allows none" in outcome.err
    assert f"  - {BEGINS}" in outcome.err
    assert list(here.iterdir()) == []


def test_its_user_is_named_before_anything_is_started(
    here: Path, netstudy: Netstudy, stopped: None
) -> None:
    outcome = netstudy("run", WEB, "--testbed", "netns", "--quick")
    said, *_, last = outcome.err.splitlines()
    start = f"netstudy: the study starts, with the rights of user {user()}: {BEGINS}"
    assert said.startswith(start)
    assert last == "netstudy: as far as the preflight"


class TestResume:
    def test_it_is_named_again(self, unfinished: Folder, netstudy: Netstudy, stopped: None) -> None:
        outcome = netstudy("run", unfinished.path, "--resume")
        assert f"the study starts, with the rights of user {user()}: {BEGINS}" in outcome.err

    @pytest.mark.parametrize("options", [[], ["--dry-run"]])
    def test_it_is_refused(
        self, unfinished: Folder, netstudy: Netstudy, options: list[str]
    ) -> None:
        outcome = netstudy("run", unfinished.path, "--resume", "--no-start", *options)
        assert outcome.code == 2
        assert f"  - {BEGINS}" in outcome.err

    def test_what_the_plan_starts_counts_and_not_what_the_study_says(
        self, unfinished: Folder, netstudy: Netstudy
    ) -> None:
        """The folder may be another's, who has changed its plan."""
        plan = unfinished.path / "plan.jsonl"
        plan.write_text(plan.read_text().replace('"python3"', '"/bin/other"'))
        outcome = netstudy("run", unfinished.path, "--resume", "--no-start")
        assert outcome.code == 2
        assert "  - /bin/other -u -c" in outcome.err


def test_the_simulator_says_nothing_since_it_starts_nothing(
    here: Path, netstudy: Netstudy, fake_engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "crash:0")
    assert "the study starts" not in netstudy("run", WEB, "--quick").err


def test_a_command_is_one_line_as_a_shell_takes_it() -> None:
    assert command_text(("sh", "-c", "a 'b'\nc")) == """sh -c 'a '"'"'b'"'"'␊c'"""


def user() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name
