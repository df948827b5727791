"""A study that grows, from the command line to its report, also when it is killed on its way."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from netstudy.cli import _prepare
from netstudy.plan_lines import read_plan
from netstudy.store import Folder, Results
from tests.cli.conftest import Netstudy
from tests.cli.test_kill import KILLED, content, run_apart

GROWING = """\
study: fill
question: How many clients fill a link of 100 Mbit/s?
factors:
  direction: [get, put]
  clients: {grow: 1.., until: no gain, confirm: 1, at most: 8}
topology:
  hosts:
    server: {profile: host-1g}
    client: {profile: host-1g, count: "${clients}"}
  switch: generic-deep
  links:
    - {between: [server, switch], rate: 100 Mbit/s, delay: 1 us}
    - {between: [client, switch], rate: 40 Mbit/s, delay: 1 us}
workload:
  transfer: {direction: "${direction}"}
procedure: {warmup: 50 ms, measure: 100 ms}
replicates: 2
noise: 2 %
figures: [goodput]
quick: {only: {clients: 2..4}, set: {replicates: 1}}
"""
WRITES = 40
"""About as many files as the run below writes, one after the other."""


@pytest.fixture
def growing(here: Path, engine: Path) -> Path:
    """The study above, in the folder to work in."""
    del engine
    path = here / "study.yaml"
    path.write_text(GROWING)
    return path


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, real_engine: Path) -> Path:
    """The results folder of a run that nothing happened to."""
    return run_apart(GROWING, tmp_path_factory.mktemp("uninterrupted"), real_engine)


def test_clients_grow_until_the_link_is_full(growing: Path, netstudy: Netstudy) -> None:
    outcome = netstudy("run", growing)
    assert outcome.code == 0, outcome.err
    (folder,) = Results(Path("results")).folders()
    told = json.loads(netstudy("status", "--json").out)
    assert [one["at"] for one in told["growth"]] == [{"direction": "get"}, {"direction": "put"}]
    tried = [len(one["tried"]) for one in told["growth"]]
    for one, number in zip(told["growth"], tried, strict=True):
        # The level after the last gain may still rise a little, so that it decides nothing.
        assert 4 <= number <= 5
        assert [step["level"] for step in one["tried"]] == list(range(1, number + 1))
        values = [step["value"] for step in one["tried"]]
        assert values[1] == pytest.approx(2 * values[0], rel=0.03)
        assert values[2] == pytest.approx(values[3], rel=0.02)
        assert 90 < values[3] < 100
        assert one["ending"] == "no gain"
    rounds, runs = max(tried), 2 * sum(tried)
    assert told["rounds"] == rounds
    assert "round 4: 4 runs to do, 12 are there" in outcome.err
    assert "With direction=get: goodput is best at" in outcome.out
    assert folder.changed_since_sealed() == []
    assert f"rounds/{rounds}.jsonl" in json.loads((folder.path / "DONE").read_text())["files"]
    assert "How clients grew" in (folder.path / "report.md").read_text()
    rows = netstudy("export", "--csv").out.splitlines()
    assert len(rows) == 1 + sum(tried)
    assert netstudy("compare", folder.path, folder.path).code == 0
    assert f"{runs}/{runs}" in netstudy("ls").out


def test_a_plan_tells_of_the_first_round_and_of_the_most(growing: Path, netstudy: Netstudy) -> None:
    told = netstudy("plan", growing).out
    assert "runs     4 in the first round, at most 32 in 8 rounds: at most 16 cells" in told
    assert "grows    clients until 1 level does not gain in throughput" in told
    assert "at most" in told.split("packets")[1].split("\n")[0]
    assert netstudy("run", growing, "--dry-run").out == told
    plan = read_plan(netstudy("plan", growing, "--json").out.encode().splitlines())
    assert {run.treatment["clients"] for run in plan.runs} == {1}
    assert not Path("results").exists()


def test_the_time_that_all_rounds_may_take_is_what_is_allowed(
    growing: Path, netstudy: Netstudy
) -> None:
    refused = netstudy("run", growing, "--max-time", "1 ms")
    assert refused.code == 2
    assert "32 runs" in refused.err
    assert not Path("results").exists()


def test_quick_and_only_keep_levels_of_a_growing_factor(growing: Path, netstudy: Netstudy) -> None:
    assert netstudy("run", growing, "--quick", "--only", "direction=put").code == 0
    told = json.loads(netstudy("status", "--json").out)
    assert [step["level"] for step in told["growth"][0]["tried"]] == [2, 3, 4]
    assert netstudy("run", growing, "--only", "clients=1,3").code == 0
    told = json.loads(netstudy("status", "--json").out)
    assert [one["ending"] for one in told["growth"]] == ["list ended", "list ended"]
    assert told["growth"][0]["told"] == "it ended at 3\u00a0clients, the last of this run"


@pytest.mark.parametrize(
    ("changes", "of", "said"),
    [
        ({}, "requests_per_s", "is not measured by the workload transfer"),
        (
            {
                'transfer: {direction: "${direction}"}': "request: {request: 1 kB}",
                "figures: [goodput]\n": "",
                "  direction: [get, put]\n": "",
                "noise: 2 %\n": "",
            },
            "latency_us_max",
            "is an extreme value, so that replicates do not show its noise; declare noise",
        ),
    ],
    ids=["of another workload", "without noise"],
)
def test_a_metric_that_cannot_decide_is_refused_before_anything_runs(
    changes: dict[str, str], of: str, said: str, growing: Path, netstudy: Netstudy
) -> None:
    text = GROWING
    for was, now in {**changes, "at most: 8": f"at most: 8, of: {of}"}.items():
        assert text.count(was) == 1
        text = text.replace(was, now)
    growing.write_text(text)
    told = netstudy("validate", growing)
    assert f'factors.clients.of: "{of}" {said}' in told.out + told.err
    refused = netstudy("run", growing)
    assert refused.code == 2
    assert f'factors.clients.of: "{of}" {said}' in refused.err
    assert not Path("results").exists()


def test_an_unfinished_folder_says_how_far_its_rounds_are(
    growing: Path, netstudy: Netstudy
) -> None:
    assert killed(growing, "/.3.jsonl:1:after")
    told = netstudy("status").out
    assert "unfinished, 8 of 12 runs, 3 rounds" in told
    assert "clients direction=get: it goes on after 2" in told
    refused = netstudy("export", "fill")
    assert "8 of 12 runs of 3 rounds so far are there" in refused.err


def killed(study: Path, instant: str) -> bool:
    """Start or resume a run that kills itself at an instant; False: it came to its end before."""
    known = Results(Path("results")).folders()
    asked = [known[0].path, "--resume"] if known else [study.name]
    process = subprocess.run(
        [sys.executable, KILLED, "run", *asked],
        env={**os.environ, "KILL_AT": instant},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode in (0, -signal.SIGKILL), process.stderr
    return process.returncode != 0


def finished(study: Path, netstudy: Netstudy) -> Folder:
    """What `--resume` makes of what is there; without a folder, a run from the start."""
    known = Results(Path("results")).folders()
    arguments = [known[0].path, "--resume"] if known else [study.name]
    outcome = netstudy("run", *arguments)
    assert outcome.code == 0, outcome.err
    (folder,) = Results(Path("results")).folders()
    return folder


def killed_at_random(seed: int, study: Path, uninterrupted: Path, netstudy: Netstudy) -> None:
    """Kill a run before or after a random write of it, perhaps again, and let it end."""
    chance = random.Random(seed)
    instants: list[str] = []
    while not instants or chance.random() < 0.4:
        when = chance.choice(["before", "half", "after"])
        instants.append(f"/:{chance.randint(1, WRITES)}:{when}")
        if not killed(study, instants[-1]):
            break
    folder = finished(study, netstudy)
    said = f"seed {seed}, killed at {instants}"
    assert content(folder.path) == content(uninterrupted), said
    assert folder.changed_since_sealed() == [], said


@pytest.mark.parametrize("seed", [1, 2])
def test_a_growing_study_killed_at_random_ends_as_if_it_had_not_been(
    seed: int, growing: Path, uninterrupted: Path, netstudy: Netstudy
) -> None:
    killed_at_random(seed, growing, uninterrupted, netstudy)


@pytest.mark.slow
def test_a_growing_study_is_killed_20_times_and_ends_as_if_it_had_not_been(
    growing: Path, uninterrupted: Path, netstudy: Netstudy
) -> None:
    """Seeds differ from one time to the next; the one that fails is told."""
    base = random.SystemRandom().randrange(10**6)
    for seed in range(base, base + 20):
        killed_at_random(seed, growing, uninterrupted, netstudy)
        shutil.rmtree("results")


@pytest.mark.parametrize(
    "instant",
    [
        "/rounds/:2:before",
        "/rounds/:2:after",
        "/records/:13:half",
        "environment.json:2:before",
        "DONE:1:after",
    ],
)
def test_killed_at_the_edge_of_a_round_it_goes_on_with_the_same_one(
    instant: str, growing: Path, uninterrupted: Path, netstudy: Netstudy
) -> None:
    assert killed(growing, instant)
    assert content(finished(growing, netstudy).path) == content(uninterrupted)


CASES = """\
study: two
question: How many clients fill the link, and what do windows of two sizes do?
cases:
  fill:
    factors: {clients: {grow: 1.., until: no gain, confirm: 1, at most: 3}, flows: [1]}
  windows:
    factors: {clients: [4], flows: [1, 2, 4]}
topology:
  hosts:
    server: {profile: host-1g}
    client: {profile: host-1g, count: "${clients}"}
  switch: generic-deep
  links:
    - {between: [server, switch], rate: 100 Mbit/s, delay: 1 us}
    - {between: [client, switch], rate: 40 Mbit/s, delay: 1 us}
workload:
  transfer: {flows: "${flows}"}
procedure: {warmup: 50 ms, measure: 100 ms}
replicates: 2
noise: 2 %
figures: [goodput]
"""


@pytest.mark.parametrize("only", ["clients=4", "flows=2,4"])
def test_a_choice_that_leaves_nothing_of_a_growing_factor_is_refused_before_any_run(
    here: Path, engine: Path, netstudy: Netstudy, only: str
) -> None:
    (here / "study.yaml").write_text(CASES)
    for verb in ("plan", "run"):
        refused = netstudy(verb, "study.yaml", "--only", only)
        assert refused.code == 2
        assert "nothing is left of case fill, whose clients grows" in refused.err
        assert "--without cases.fill" in refused.err
    assert not Path("results").exists()
    assert netstudy("run", "study.yaml", "--only", only, "--without", "cases.fill").code == 0


def test_rounds_of_nothing_end_and_the_other_cases_are_reported(
    here: Path, engine: Path, netstudy: Netstudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results of a version that let such a choice pass."""
    (here / "study.yaml").write_text(CASES)
    monkeypatch.setattr(_prepare, "_refuse_without_growth", lambda _: None)
    outcome = netstudy("run", "study.yaml", "--only", "clients=4")
    assert outcome.code == 0, outcome.err
    (folder,) = Results(Path("results")).folders()
    assert folder.is_done()
    assert "At 4 clients: Goodput from " in outcome.out
    assert netstudy("report", folder.path).code == 0
    assert netstudy("run", folder.path, "--resume").code == 0
