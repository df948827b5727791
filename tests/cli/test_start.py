"""The verbs before a run: init, validate, plan, doctor."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import netstudy as netstudy_data
from netstudy.cli.init import READY, Like
from netstudy.plan_lines import plan_bytes, read_plan
from netstudy.study.shipped import shipped_studies
from tests.cli.conftest import INCAST, SMALL_RUNS, Netstudy, start

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.mark.usefixtures("engine")
def test_a_terminal_that_knows_ascii_alone_is_written_to(study: Path) -> None:
    environment = {"PYTHONIOENCODING": "ascii", "COLUMNS": "100"}
    for command in (("--help",), ("run", study, "--quick"), ("ls",), ("compare", "small", "small")):
        process = start(*command, **environment)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert (out + err).isascii()
        assert "?" not in out.replace("sooner?", "")


class TestInit:
    @pytest.mark.parametrize("name", ["incast", "ethernet", "examples/mtu"])
    def test_a_shipped_study_comes_with_its_published_values_and_can_be_planned(
        self, here: Path, netstudy: Netstudy, name: str
    ) -> None:
        outcome = netstudy("init", "mine", "--from", name)
        published = sorted((STUDIES / name / "reference").glob("*"))
        assert outcome.out.splitlines() == [
            "mine/study.yaml",
            *(f"mine/reference/{path.name}" for path in published),
        ]
        assert (here / "mine/study.yaml").read_bytes() == (
            STUDIES / name / "study.yaml"
        ).read_bytes()
        assert netstudy("validate", "mine").out.startswith("mine: ok\n")
        assert netstudy("plan", "mine").code == 0
        has_short_form = name != "examples/mtu"
        assert outcome.err.endswith("netstudy run mine" + " --quick" * has_short_form + "\n")

    def test_every_shipped_study_is_right(self, here: Path, netstudy: Netstudy) -> None:
        for number, name in enumerate(shipped_studies()):
            assert netstudy("init", str(number), "--from", name).code == 0
            assert netstudy("validate", str(number)).code == 0

    def test_it_goes_into_the_current_folder_unless_told_otherwise(
        self, here: Path, netstudy: Netstudy
    ) -> None:
        told = json.loads(netstudy("init", "--json").out)
        assert told == {"written": ["README.md", "study.yaml"]}
        assert netstudy("validate", ".").code == 0

    def test_nothing_is_overwritten(self, here: Path, netstudy: Netstudy) -> None:
        (here / "README.md").write_text("mine")
        outcome = netstudy("init")
        assert outcome.code == 2
        assert "README.md" in outcome.err
        assert [path.name for path in here.iterdir()] == ["README.md"]
        assert (here / "README.md").read_text() == "mine"

    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("incats", 'did you mean "incast"?'),
            ("qqq", "known: bufferbloat, congestion-controls, ethernet, examples/"),
        ],
    )
    def test_an_unknown_study_is_refused_with_those_there_are(
        self, here: Path, netstudy: Netstudy, name: str, told: str
    ) -> None:
        outcome = netstudy("init", "--from", name)
        assert outcome.code == 2
        assert told in outcome.err
        assert not list(here.iterdir())

    @pytest.mark.parametrize("like", list(Like))
    def test_each_kind_of_question_has_a_study_with_enough_replicates(
        self, here: Path, netstudy: Netstudy, like: str
    ) -> None:
        assert netstudy("init", "mine", "--like", like).code == 0
        assert netstudy("validate", "mine").out == "mine: ok\n"
        planned = netstudy("plan", "mine").out
        assert "5 replicates of each" in planned
        # A comparison needs five to decide by more than the noise.
        quick = 5 if like == "compare" else 3
        assert f"{quick} replicates of each" in netstudy("plan", "mine", "--quick").out

    @pytest.mark.usefixtures("engine")
    @pytest.mark.parametrize(
        ("like", "told"),
        [
            ("compare", "completion time is shorter with dctcp than with cubic throughout"),
            ("sweep", "Goodput is best at 4 servers"),
            ("factors", "With buffer 2 MB, min_rto makes no difference."),
        ],
    )
    def test_a_study_to_start_from_decides(
        self, here: Path, netstudy: Netstudy, like: str, told: str
    ) -> None:
        netstudy("init", "mine", "--like", like)
        outcome = netstudy("run", "mine")
        assert outcome.code == 0
        assert told in " ".join(outcome.out.split())

    @pytest.mark.usefixtures("engine")
    @pytest.mark.parametrize(
        "like",
        [
            pytest.param(like, marks=pytest.mark.slow if like in READY else ())
            for like in Like
            if like is not Like.REAL
        ],
    )
    def test_the_short_form_decides_and_confirms_or_refutes_what_was_expected(
        self, here: Path, netstudy: Netstudy, like: Like
    ) -> None:
        netstudy("init", "mine", "--like", like)
        outcome = netstudy("run", "mine", "--quick", "--json")
        assert outcome.code == 0, outcome.err
        found = json.loads(outcome.out)
        outcomes = {one["outcome"] for one in found["expectations"]}
        if like is Like.FACTORS:  # waits for timeouts scatter: what they cost takes more runs
            assert "confirmed" in outcomes
        else:
            assert "undecided" not in outcomes
        assert found["answer"]
        decided = {one.outcome for one in netstudy_data.open("mine").verdicts}
        compared = (Like.COMPARE, Like.TRANSFER, Like.LATENCY, Like.USERS, Like.PLACEMENT)
        if like in (*compared, *READY):
            assert "different" in decided

    def test_a_misspelt_kind_is_told_which_was_meant(self, here: Path, netstudy: Netstudy) -> None:
        outcome = netstudy("init", "mine", "--like", "sweeep")
        assert outcome.code == 2
        assert 'there is no kind "sweeep"; did you mean "sweep"?' in " ".join(outcome.err.split())
        assert not list(here.iterdir())

    def test_two_sources_are_refused(self, here: Path, netstudy: Netstudy) -> None:
        outcome = netstudy("init", "--like", "sweep", "--from", "incast")
        assert outcome.code == 2
        assert "--like and --from" in outcome.err
        assert not list(here.iterdir())

    def test_on_a_terminal_it_asks_until_there_is_an_answer(
        self, here: Path, netstudy: Netstudy, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answers = iter(["13", "sweep"])
        monkeypatch.setattr("netstudy.cli.init._is_interactive", lambda: True)
        monkeypatch.setattr("typer.prompt", lambda *_args, **_options: next(answers))
        outcome = netstudy("init", "mine")
        assert "study: my-sweep" in (here / "mine" / "study.yaml").read_text()
        assert "there is no '13'" in outcome.err


class TestValidate:
    def test_json(self, study: Path, netstudy: Netstudy) -> None:
        study.with_name("wrong.yaml").write_text("study: 1 2\nx: 1\n")
        checked = json.loads(netstudy("validate", study, "wrong.yaml", "--json").out)
        assert checked[0] == {
            "path": str(study),
            "ok": True,
            "errors": [],
            "starts": [],
            "notes": [],
            "warnings": [],
        }
        assert not checked[1]["ok"]
        assert all(re.match(r"wrong\.yaml:\d+:\d+: ", error) for error in checked[1]["errors"])


class TestPlan:
    def test_it_tells_what_a_run_would_cost_and_touches_nothing(
        self, study: Path, netstudy: Netstudy
    ) -> None:
        told = dict(re.findall(r"^(\w+) +(.*)$", netstudy("plan", study).out, re.MULTILINE))
        assert told["study"] == "small, seed 1"
        assert told["runs"] == f"{SMALL_RUNS}: 6 cells, 2 replicates of each"
        # servers x iterations (2 of warm-up) x segments of 8948 bytes, two switches, two replicates
        assert told["packets"] == f"{(1 + 3 + 6) * (20 + 2) * 12 * 2 * 2:,}"
        assert told["time"].startswith("about ")
        assert told["disk"].endswith(" MB")
        assert [path.name for path in study.parent.iterdir()] == ["study.yaml"]

    def test_json_is_the_plan_that_the_engine_reads(self, study: Path, netstudy: Netstudy) -> None:
        printed = netstudy("plan", study, "--json").out
        plan = read_plan(printed.encode().splitlines())
        assert printed == plan_bytes(plan).decode()
        assert len(plan.runs) == SMALL_RUNS

    def test_the_same_study_and_seed_give_the_same_plan_and_another_seed_another(
        self, study: Path, netstudy: Netstudy
    ) -> None:
        first, again = (netstudy("plan", study, "--json").out for _ in range(2))
        assert first == again == netstudy("plan", study, "--json", "--seed", "1").out
        assert first != netstudy("plan", study, "--json", "--seed", "2").out

    @pytest.mark.parametrize(
        ("option", "cells"), [("switch=nexus-5010", 3), ("servers=1..3", 4), ("servers=1,6", 4)]
    )
    def test_a_subset(self, study: Path, netstudy: Netstudy, option: str, cells: int) -> None:
        assert f"{cells} cells" in netstudy("plan", study, "--only", option).out

    def test_the_published_study_has_138_cells(self, here: Path, netstudy: Netstudy) -> None:
        assert "138 cells" in netstudy("plan", INCAST).out


class TestVersion:
    def test_it_names_front_and_engine_with_its_build(
        self, engine: Path, netstudy: Netstudy
    ) -> None:
        front, built = netstudy("--version").out.splitlines()
        assert front == "netstudy 0.1.0"
        assert re.fullmatch(
            r"netstudy-engine 0\.1\.0 \((fast|release) build for \S+-linux-(gnu|musl), "
            rf"(without|optimised by) a recorded profile\) at {re.escape(str(engine))}",
            built,
        )

    def test_without_an_engine_it_says_so(
        self, netstudy: Netstudy, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("NETSTUDY_ENGINE", "/nowhere/engine")
        outcome = netstudy("--version")
        assert outcome.code == 0
        assert "no engine: NETSTUDY_ENGINE names /nowhere/engine" in outcome.out


class TestDoctor:
    def test_it_finds_the_engine(self, here: Path, engine: Path, netstudy: Netstudy) -> None:
        outcome = netstudy("doctor")
        assert outcome.code == 0
        assert re.search(
            rf"netstudy-engine 0\.1\.0 \(.* build .*\) at {re.escape(str(engine))}\n", outcome.out
        )

    def test_it_tells_what_is_missing_and_how_to_get_it(
        self, here: Path, netstudy: Netstudy, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("NETSTUDY_ENGINE", "/nowhere/engine")
        monkeypatch.setenv("PATH", str(here))
        outcome = netstudy("doctor", "--json")
        found = {finding["name"]: finding for finding in json.loads(outcome.out)}
        assert outcome.code == 2
        assert not found["engine"]["ok"]
        assert found["engine"]["advice"] == "make build"
        assert not found["chromium"]["needed"]
        assert found["chromium"]["advice"].endswith("sudo apt-get install chromium")
        assert found["CPUs"]["ok"]

    def test_an_engine_that_does_not_run_is_told(
        self, here: Path, netstudy: Netstudy, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = here / "engine"
        engine.write_text("#!/bin/sh\nexit 1\n")
        engine.chmod(0o755)
        monkeypatch.setenv("NETSTUDY_ENGINE", str(engine))
        outcome = netstudy("doctor")
        assert outcome.code == 2
        assert f"{engine} does not run" in outcome.out


class TestAStudyInPlaceOfAVerb:
    @pytest.mark.parametrize("named", ["mine", "mine/study.yaml"])
    def test_is_told_of_run(self, here: Path, netstudy: Netstudy, named: str) -> None:
        assert netstudy("init", "mine", "--like", "compare").code == 0
        outcome = netstudy(named)
        assert outcome.code == 2
        assert f"'{named}' is a study, not a verb. To run it: netstudy run {named}" in outcome.err

    def test_any_other_word_is_no_verb(self, here: Path, netstudy: Netstudy) -> None:
        assert "No such command 'mine'" in netstudy("mine").err
