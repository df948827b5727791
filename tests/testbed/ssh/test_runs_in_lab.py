"""Studies that are carried out on hosts with a real sshd, each with a clock of its own, over the
network of the study; and faults while a run is under way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from netstudy.testbed.real import health
from netstudy.testbed.real.others import LAW
from tests.skips import needs_programs
from tests.testbed.conftest import user_named
from tests.testbed.ssh.lab_runs import HOSTS, STORED, STUDY
from tests.tools.lab import Lab, lab_of

pytestmark = [pytest.mark.engine, needs_programs("ssh", "sshd", "ip")]

STEP_NS = 1_000 * 10**9
"""The clock of each host of the lab is so much ahead of that of the host before it."""
TIMED = "procedure: {warmup: 200 ms, measure: 1 s}"
WORKLOADS = {
    "incast": ("incast: {block: 100 kB, iterations: 5, warmup: 1}", ""),
    "transfer": ("transfer: {size: 200 kB}", TIMED),
    "request": ("request: {request: 64 B, response: 2 kB}", TIMED),
    "probe": (
        "transfer: {}\n  probe: 20 ms",
        "procedure: {idle: 200 ms, warmup: 200 ms, measure: 1 s}",
    ),
    "files": ("transfer: {protocol: ftp, size: 200 kB, from: ram, to: ram, repeats: 2}", ""),
    "long": ("transfer: {}", "procedure: {warmup: 200 ms, measure: 60 s}"),
}


SENT = "$(( $(ssh server-1 cat /sys/class/net/eth0/statistics/tx_bytes) - $(cat $HOME/mark) ))"
"""An expression of the shell: bytes that the first server has sent since `mark`."""


def study(name: str) -> str:
    workload, more = WORKLOADS[name]
    return STUDY.format(name=name, workload=workload, more=more, replicates=1, rate="100 Mbit/s")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("studies")
    for name in WORKLOADS:
        (folder / f"{name}.yaml").write_text(study(name))
    with lab_of(user_named("root"), "3", f"--network={folder}/incast.yaml") as lab:
        files = 's/: {ssh: [^,]*,/&  files: "~\\/f",/'
        lab.run(f"cp {folder}/*.yaml $HOME; sed -i '{files}' $NETSTUDY_LAB/hosts.yaml")
        for host in HOSTS:
            lab.said(host, "mkdir f")
        yield lab


def command(lab: Lab, name: str) -> str:
    options = f"--testbed $NETSTUDY_LAB/hosts.yaml --results $HOME/results-{name}"
    return f"cd $HOME; {lab.user.python} -m netstudy run {name}.yaml {options}"


def records(lab: Lab, name: str) -> list[dict[str, Any]]:
    text = lab.run(f"{lab.user.python} {STORED} $HOME/results-{name}").output
    return [json.loads(line) for line in text.splitlines() if line.startswith('{"kind":"run"')]


def carried_out(lab: Lab, name: str) -> dict[str, Any]:
    lab.run(f"rm -rf $HOME/results-{name}")
    done = lab.run(command(lab, name))
    found = records(lab, name)
    assert len(found) == 1, done.output
    (record,) = found
    assert record["status"] == "ok", (done.output, record["error"], record["checks"])
    return record


def under_way(lab: Lab, name: str = "long") -> None:
    """Start a run, and wait until its bytes flow."""
    lab.run(f"rm -rf $HOME/results-{name}")
    lab.run(f"( {command(lab, name)} ) >$HOME/said 2>&1 & echo $! >$HOME/controller")
    flows = lab.run(f"until [ {SENT} -gt 5000000 ]; do sleep 0.2; done")
    assert flows.code == 0


@pytest.fixture(autouse=True)
def mark(lab: Lab) -> None:
    lab.run("ssh server-1 cat /sys/class/net/eth0/statistics/tx_bytes >$HOME/mark")


@pytest.mark.parametrize(
    "name",
    [
        "incast",
        "files",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("transfer", "request", "probe")),
    ],
)
def test_a_workload_runs_on_hosts(lab: Lab, name: str) -> None:
    record = carried_out(lab, name)

    assert [node["clock"] for node in record["nodes"].values()][:3] == list(HOSTS)
    for number, host in enumerate(HOSTS[1:], start=1):
        bounds = record["clocks"][host]
        assert bounds["offset_low_ns"] <= number * STEP_NS <= bounds["offset_high_ns"]
    samples = record["samples"]
    assert any(samples[kind] for kind in ("iteration", "transfer", "request", "second"))
    others = [one for one in record["limits"] if one["name"].startswith("traffic of others")]
    assert len(others) == 2 * len(HOSTS)
    assert [one["holds"] for one in record["checks"] if one["law"] == health.LAW] == [True]
    for host in HOSTS:
        kept = f"captures/nodes/{record['nodes'][host]['environment']}.json"
        found = json.loads(lab.run(f"cat $HOME/results-{name}/*/latest/{kept}").output)
        assert [one["kind"] for one in found["interfaces"]] == ["veth"]
        assert "net.ipv4.tcp_rmem" in found["sysctls"]
    assert lab.said("client", "ls f") == ""


def logged(lab: Lab, host: str, event: str) -> int:
    """How many times the sshd of a host has logged this."""
    return int(lab.run(f"grep -c '{event}' /run/hosts/{host}/log").output)


@pytest.mark.parametrize("event", ["Accepted publickey", "Starting session"])
def test_further_runs_take_no_further_log_in_and_no_further_session(lab: Lab, event: str) -> None:
    counts = [[logged(lab, host, event) for host in HOSTS]]
    for replicates in (1, 3):
        options = f"--set replicates={replicates}"
        lab.run(f"rm -rf $HOME/results-incast; {command(lab, 'incast')} {options}")
        assert [record["status"] for record in records(lab, "incast")] == ["ok"] * replicates
        counts.append([logged(lab, host, event) for host in HOSTS])
    before, once, again = counts
    grown = [after - first for first, after in zip(before, once, strict=True)]
    assert grown == [after - first for first, after in zip(once, again, strict=True)]
    if event == "Accepted publickey":
        assert grown == [1] * len(HOSTS)


def test_times_of_a_node_are_by_its_own_clock(lab: Lab) -> None:
    record = carried_out(lab, "incast")
    starts = [record["nodes"][host]["read_at_ns"][0] for host in HOSTS]
    for number, start in enumerate(starts[1:], start=1):
        # Edges of one run are read within seconds, and the clocks are 1,000 s apart.
        assert abs(start - starts[0] - number * STEP_NS) < STEP_NS // 10


@pytest.mark.slow
def test_traffic_of_others_makes_the_run_be_repeated_and_then_invalid(lab: Lab) -> None:
    lab.make("stray", "server-1", "5")
    try:
        lab.run(f"rm -rf $HOME/results-transfer; {command(lab, 'transfer')}")
        (record,) = records(lab, "transfer")
    finally:
        lab.make("stray", "server-1", "off")
    assert record["status"] == "invalid"
    broken = [check for check in record["checks"] if not check["holds"]]
    assert [check["law"] for check in broken] == [LAW]
    assert re.search(r"traffic of others received at eth0 \(server-1\): [45]", broken[0]["detail"])
    (attempts,) = [one for one in record["limits"] if "attempts" in one["name"]]
    assert attempts["value"] == 2


def test_a_controller_that_is_killed_leaves_no_traffic(lab: Lab) -> None:
    under_way(lab)
    lab.run("kill -9 $(cat $HOME/controller); pkill -9 -P $(cat $HOME/controller); true")
    # The lease is 5 s.
    lab.run("sleep 6")
    before, after = (int(lab.run(f"sleep 0.5; echo {SENT}").output) for _ in range(2))
    assert after - before < 100_000
    for host in HOSTS:
        assert lab.said(host, "ps ax | grep -c '[e]ngine-.* host ' || true") == "0"


@pytest.mark.slow
def test_a_cut_that_is_longer_than_the_lease_ends_the_traffic_while_the_link_is_down(
    lab: Lab,
) -> None:
    under_way(lab)
    count = "cat /sys/class/net/eth0/statistics/rx_bytes"
    lab.make("cut", "server-1", "control")
    try:
        lab.run("sleep 7")
        received = [int(lab.said("client", f"sleep 0.5; {count}")) for _ in range(2)]
    finally:
        lab.make("join", "server-1", "control")
    ended = lab.run("wait; tail --pid $(cat $HOME/controller) -f /dev/null; cat $HOME/said")
    assert received[1] - received[0] < 100_000
    (record,) = records(lab, "long")
    assert record["status"] == "ok", "the run is repeated when the link is up again"
    (attempts,) = [one for one in record["limits"] if "attempts" in one["name"]]
    lost = "server-1: has (not been heard of since|ended)"
    assert re.search(lost, attempts["evidence"]), ended.output


@pytest.mark.slow
def test_a_killed_agent_is_named(lab: Lab) -> None:
    under_way(lab)
    lab.make("signal", "server-2", "KILL", "'exe agent'")
    lab.run("tail --pid $(cat $HOME/controller) -f /dev/null")
    (record,) = records(lab, "long")
    assert record["status"] == "failed"
    assert record["error"].startswith("server-2: was killed by signal 9")


@pytest.mark.slow
def test_a_study_is_resumed_on_the_same_hosts(lab: Lab) -> None:
    carried_out(lab, "request")
    again = lab.run(
        "cd $HOME; cd results-request/*/latest; rm -r records; "
        "mv $NETSTUDY_LAB/hosts.yaml $HOME/away; "
        f"{lab.user.python} -m netstudy run . --resume; "
        "mv $HOME/away $NETSTUDY_LAB/hosts.yaml"
    )
    (record,) = records(lab, "request")
    assert record["status"] == "ok", again.output
