"""Plans that are too large for the time, the memory or the disk: refused by arithmetic, by name,
before anything is made."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from netstudy.cli import _limits, _terminal
from netstudy.plan import make
from netstudy.store import environment
from netstudy.testbed.memory import Memory
from tests.cli.conftest import Netstudy

GB = 1_000_000_000
USERS = """\
study: shop
question: How many users?
factors: {users: [10, 1000000000]}
topology:
  hosts:
    app: {profile: host-1g, cpus: 2}
    client: {profile: host-1g}
  switch: generic-deep
  links:
    - {between: [app, switch], rate: 1 Gbit/s}
    - {between: [client, switch], rate: 1 Gbit/s}
workload:
  transactions:
    application: brokerage
    engine: sqlite
    population: {users: "${users}"}
    closed: {users: "${users}"}
procedure: {measure: 1 s}
replicates: 2
"""


@pytest.fixture
def unexpanded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No plan is expanded into its runs."""

    def expanded(*_: object) -> None:
        raise AssertionError("the plan is expanded")

    monkeypatch.setattr(make._Design, "_runs", expanded)


@pytest.fixture
def users(here: Path) -> Path:
    """A study of far too many users, in the folder to work in."""
    path = here / "study.yaml"
    path.write_text(USERS)
    return path


@pytest.mark.usefixtures("unexpanded")
def test_more_users_than_fit_into_memory_are_refused_by_name(
    users: Path, netstudy: Netstudy
) -> None:
    refused = netstudy("run", users)
    assert refused.code == 2
    assert "a run at users=1000000000 would take about" in refused.err
    assert "of memory, and" in refused.err
    assert [path.name for path in users.parent.iterdir()] == ["study.yaml"]
    told = netstudy("plan", users).out
    assert "memory   about " in told
    assert "note     This machine cannot run the study: a run at users=1000000000" in told
    few = netstudy("plan", users, "--only", "users=10").out
    assert "cannot run the study" not in few


@pytest.mark.usefixtures("unexpanded")
def test_the_most_connections_that_a_study_can_have_are_planned_at_once(
    study: Path, netstudy: Netstudy
) -> None:
    for workload, key in (("transfer", "flows"), ("request", "connections")):
        more = f"{{{workload}: {{{key}: 1000000000}}}}\nprocedure: {{measure: 1 s}}"
        lines = study.read_text().splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("  incast:"))
        lines[at - 1 : at + 1] = [f"workload: {more}"]
        changed = study.with_name("changed.yaml")
        changed.write_text("\n".join(lines).replace("replicates: 2\ncompare", "replicates: 2\n#"))
        began = time.monotonic()
        refused = netstudy("run", changed)
        assert refused.code == 2
        assert "of memory" in refused.err or "--max-time" in refused.err
        assert time.monotonic() - began < 10


@pytest.mark.usefixtures("unexpanded", "engine")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--max-time", "10 s"), "200,000 runs"),
        (("--testbed", "netns"), "longer than --max-time 24h"),
    ],
)
def test_a_plan_of_too_many_runs_is_refused_before_it_is_expanded(
    study: Path, netstudy: Netstudy, arguments: tuple[str, ...], message: str
) -> None:
    many = (study, "--set", "replicates=100000", "--only", "servers=1")
    refused = netstudy("run", *many, *arguments)
    assert refused.code == 2
    assert message in refused.err
    assert "runs     200,000: 2 cells, 100000 replicates of each" in netstudy("plan", *many).out
    assert [path.name for path in study.parent.iterdir()] == ["study.yaml"]


@pytest.mark.usefixtures("unexpanded")
def test_results_that_do_not_fit_on_the_disk_are_refused_before_the_plan_is_expanded(
    study: Path, netstudy: Netstudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 1_000_000

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage)
    refused = netstudy("run", study)
    assert refused.code == 2
    assert "not enough space in results: the results may take 8" in refused.err
    assert "1.0 MB are free" in refused.err
    assert [path.name for path in study.parent.iterdir()] == ["study.yaml"]


def cost(memory: Memory) -> _limits.Cost:
    return _limits.Cost(3, 3, 0, 0, 1.0, 1, memory)


def test_fewer_threads_are_proposed_where_single_runs_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of 6, 4 and 4 GB with a front of 1 GB: two of them fit into 12 GB, three do not."""
    memory = Memory(GB, ((6 * GB, 1), (4 * GB, 2)), "a run at users=9")
    assert (memory.bytes, memory.bytes_alone, memory.at_once) == (15 * GB, 7 * GB, 3)
    for available, told in (
        (15 * GB, None),
        (12 * GB, "3 runs at once would take about 15.0 GB of memory"),
        (5 * GB, "a run at users=9 would take about 7.0 GB of memory"),
    ):
        monkeypatch.setattr(environment, "available_memory_bytes", lambda at=available: at)
        said = _limits.too_little_memory(cost(memory))
        assert said is None if told is None else told in (said or "")
    assert [memory.fitting(size * GB) for size in (15, 12, 8, 5)] == [3, 2, 1, 1]


def test_progress_of_a_plan_is_told_after_its_first_second(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr("netstudy.cli._terminal.time.monotonic", lambda: now[0])
    progress = _terminal.PlanProgress()
    for at, done in ((100.0, 0), (100.9, 5), (101.1, 6), (102.0, 7), (106.2, 8), (200.0, 0)):
        now[0] = at
        progress("runs", done, 2000)
    assert capfd.readouterr().err == "plan: 6 of 2,000 runs\nplan: 8 of 2,000 runs\n"
