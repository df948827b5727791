"""An incast between hosts with sshd, in a lab, held against the same incast in namespaces."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from netstudy.cli import invoke
from netstudy.store import Results
from tests.skips import needs_programs
from tests.testbed.conftest import user_named
from tests.testbed.ssh.lab_runs import HOSTS
from tests.testbed.ssh.test_runs_in_lab import study
from tests.tools.lab import Lab, lab_of

pytestmark = [
    pytest.mark.engine,
    pytest.mark.quiet,
    pytest.mark.slow,
    needs_programs("ssh", "sshd", "ip"),
]

MEDIAN_PCT = 5
"""How far apart median completion times may be: as in `test_testbeds_agree`."""
TRIES = 3
"""Runs before the machine is said to be too busy."""
OPTIONS = ["--set=workload.incast.iterations=20", "--scale=1/5"]


def median_ms(record: dict[str, Any]) -> float:
    return float(statistics.median(record["samples"]["iteration"]["completion_ns"])) / 1e6


def runs(text: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in text.splitlines()]
    return [one for one in found if one["kind"] == "run" and one["status"] == "ok"]


def on_hosts(lab: Lab) -> float:
    options = " ".join([*OPTIONS, "--testbed=$NETSTUDY_LAB/hosts.yaml", "--results=$HOME/r"])
    done = lab.run(
        f"cd $HOME; rm -rf r; {lab.user.python} -m netstudy run incast.yaml {options} >&2; "
        f"{lab.user.python} -m netstudy export --records --results r"
    )
    (record,) = runs(done.output[done.output.index("{") :])
    assert list(record["clocks"]) == list(HOSTS[1:])
    return median_ms(record)


def in_namespaces(path: Path, results: Path) -> float | None:
    """None: the machine is too busy for the switch to keep to its times."""
    invoke(
        ["run", str(path), "--testbed=netns", "--variant=hosts", f"--results={results}", *OPTIONS]
    )
    found = runs(b"".join(Results(results).resolve("incast", done=True).stream()).decode())
    return median_ms(found[0]) if found else None


def test_an_incast_takes_as_long_between_hosts_as_in_namespaces(tmp_path: Path) -> None:
    path = tmp_path / "incast.yaml"
    path.write_text(study("incast"))
    measured = (in_namespaces(path, tmp_path / f"r{number}") for number in range(TRIES))
    expected = next((one for one in measured if one is not None), None)
    if expected is None:
        pytest.skip("the machine is too busy for the switch to keep to its times")
    network = [f"--network={path}", "--tuned", "--scale=1/5"]
    with lab_of(user_named("root"), "3", *network) as lab:
        lab.run(f"cp {path} $HOME")
        found = [on_hosts(lab) for _ in range(TRIES)]
    print(f"median completion: {found} ms on hosts, {expected:.2f} ms in namespaces")
    # A busy machine makes a run longer, never shorter.
    assert min(found) == pytest.approx(expected, rel=MEDIAN_PCT / 100)
