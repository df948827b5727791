"""Studies from their plan to their sealed folder on the real testbed of one machine."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from netstudy.analysis.growth import loops_in
from netstudy.execute import is_final
from netstudy.store import Folder
from netstudy.store.folder import CAPTURES
from netstudy.store.nodes import read_node
from netstudy.testbed import named
from netstudy.wire import EngineRecord, RunRecord, TestbedLimit, to_json
from tests.report import synthetic
from tests.report.results import NOW
from tests.testbed.conftest import User
from tests.testbed.front import begun, captured, finished, resume, start, study_text

pytestmark = pytest.mark.quiet

_ITERATIONS, _WARMUP, _BLOCK_BYTES = 3, 1, 32_000
_NOBODY = 65_534
_OLD_TCP = {"tcp: {profile: linux-6}": "tcp: {profile: linux-2.6.18}"}
_PAUSE = {"latency: 0 ns": "honours_pause: true, pause_high: 40 kB, pause_low: 20 kB"}
_TOO_FAST = {"host-1g": "host-100g", "rate: 100 Mbit/s": "rate: 100 Gbit/s"}
_SCALE = "The largest scale that fits is --scale 1/"


def changed(change: dict[str, str]) -> str:
    """The study with other words instead of some of its own."""
    text = study_text()
    for was, now in change.items():
        assert was in text
        text = text.replace(was, now)
    return text


@pytest.fixture
def place(user: User) -> Iterator[Path]:
    """A folder of the user's that they can reach."""
    path = Path(tempfile.mkdtemp(prefix="netstudy-test-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def give(path: Path, user: User) -> None:
    """Make a tree the user's own."""
    if "setpriv" in "".join(user.prefix):
        for one in (path, *path.rglob("*")):
            shutil.chown(one, _NOBODY, _NOBODY)


@pytest.mark.one_user
@pytest.mark.parametrize("testbed", ["netns", "netns-kernel"])
def test_a_study_comes_to_its_sealed_folder(place: Path, user: User, testbed: str) -> None:
    folder = begun(place, study_text("1, 4", iterations=_ITERATIONS, warmup=_WARMUP), testbed)
    give(place, user)
    ended = user.output("-m", "tests.testbed.go_on", str(folder.path))
    records = folder.records()
    assert [record.status for record in records].count("failed") == 0, ended
    assert folder.is_done()
    assert folder.changed_since_sealed() == []
    engine = folder.engine()
    assert engine is not None
    assert {engine.testbed, *(one.environment["testbed"] for one in records)} == {testbed}
    for run_, record in zip(folder.plan().runs, records, strict=True):
        servers = len(run_.network.hosts) - 1
        assert record.status == "ok" or [check for check in record.checks if not check.holds]
        assert record.samples.iteration is not None
        assert len(record.samples.iteration.completion_ns) == _ITERATIONS
        assert record.reconciliation
        assert_captured(folder, record.run, servers)
        assert_environments(folder, record)
    assert (folder.path / "report.html").read_text().count("sysctl -w net.ipv4.tcp_sack=1") >= 1
    assert "What every node ran on" in (folder.path / "report.md").read_text()
    table = run(user, "export", folder.path, "--csv").splitlines()
    assert len(table) == 1 + len(records)


@pytest.mark.one_user
def test_a_growing_study_goes_from_round_to_round(place: Path, user: User) -> None:
    growing = {"servers: [2]": "servers: {grow: [1, 2, 3], confirm: 2}"}
    folder = begun(place, changed(growing) + "noise: 5 %\n")
    give(place, user)
    ended = user.output("-m", "tests.testbed.go_on", str(folder.path))
    (one,) = loops_in(folder)
    assert one.ending is not None, ended
    levels = [step.level for step in one.judged.steps]
    assert levels == [1, 2, 3] or one.ending == "no valid run"
    assert [run_.treatment["servers"] for run_ in folder.plan().runs] == levels
    assert folder.rounds() == len(levels)
    # A run that failed on a busy machine has to be made again, and the folder stays open for it.
    assert folder.is_done() is is_final(folder, named("netns")), ended
    assert not folder.is_done() or folder.changed_since_sealed() == []


_HOME_LINE = """\
study: home
question: Does FQ-CoDel keep the queue of a slow line short?
factors: {queue: [fifo, fq-codel], size: [500 kB]}
topology:
  client: {profile: host-1g, tcp: {profile: linux-6}}
  server: {profile: host-1g, tcp: {profile: linux-6}}
  switch: {profile: generic-deep, queue: "${queue}"}
  links:
    - {between: [client, switch], rate: 20 Mbit/s, loss: {down: 1 %}}
    - {between: [server, switch], rate: 100 Mbit/s, delay: {up: 8 ms, down: 2 ms}}
workload: {transfer: {size: "${size}", repeats: 2}}
report:
  tables:
    - title: The link that loses frames
      rows: queue
      columns: size
      cell: [switch@client.port_lost, switch@client.port_sojourn_p99_ms]
"""


@pytest.mark.one_user
def test_a_study_has_queue_disciplines_and_a_link_that_loses_frames(
    place: Path, user: User
) -> None:
    folder = begun(place, _HOME_LINE)
    give(place, user)
    ended = user.output("-m", "tests.testbed.go_on", str(folder.path))
    records = folder.records()
    assert [record.status for record in records].count("failed") == 0, ended
    assert folder.is_done()
    for record in records:
        assert {one.port for one in record.samples.queue} == {"client", "server"}
        # Only what the switch sends to the client is lost.
        client = record.growth(record.ports["client"]["eth0"])
        switch = record.growth(record.ports["switch"]["client"])
        arrived = client["interface_packets_received"]
        assert switch["frames_forwarded"] == arrived + switch["link_frames_lost"]
        assert client["interface_packets_sent"] == switch["frames_received"]
        assert "link_frames_lost" not in record.ports["client"]["eth0"]
        rows = record.samples.transfer
        assert rows is not None
        # The request and the first byte take 10 ms on the way there and back.
        least_ns = 8e9 * 500_000 / 20e6 + 10e6
        assert all(
            end - start >= least_ns for start, end in zip(rows.start_ns, rows.end_ns, strict=True)
        )
    assert "The link that loses frames" in (folder.path / "report.md").read_text()


def run(user: User, *arguments: str | Path) -> str:
    """What netstudy prints for a user."""
    words = [str(argument) for argument in arguments]
    return user.output("-m", "netstudy", *words)


def assert_environments(folder: Folder, record: RunRecord) -> None:
    """Each node says what it ran on and what was set there, and the folder's seal covers it."""
    sealed = (folder.path / "DONE").read_text()
    for node in record.nodes.values():
        assert node.environment is not None
        assert f"captures/nodes/{node.environment}.json" in sealed
        found = read_node(folder.path / CAPTURES, node.environment)
        assert found.machine.cpus
        assert found.machine.memory_bytes
        assert found.machine.kernel.startswith("Linux ")
        assert "net.core.netdev_max_backlog" in found.machine.sysctls
        assert (found.interfaces[0].driver or "").startswith("veth")
        assert "tx-checksum-ip-generic: off" in (found.interfaces[0].offloads or "")
        kinds = {one["kind"] for one in json.loads(found.qdiscs)}
        assert kinds & {"noqueue", "htb"}
        assert len([name for name in found.sysctls if name.startswith("net.ipv4.tcp_")]) > 50
        assert not [name for name in found.sysctls if name.endswith("_key")]
        offload = next(one for one in found.tunings if " tso off" in one.command)
        assert (offload.before, offload.after) == ("on", "off")
        if node.kind == "host":
            sack = next(one for one in found.tunings if "tcp_sack=" in one.command)
            assert (sack.before, sack.after) == ("1", "1")
            link = next(one for one in found.tunings if one.command.startswith("ip link set"))
            assert link.before != link.after
    servers = {node.environment for node in record.nodes.values() if node.group == "server"}
    assert len(servers) == 1, "identical hosts share one"


def assert_captured(folder: Folder, run_id: str, servers: int) -> None:
    """Every process's own words are there, and tell of every byte."""
    lines = captured(folder, run_id)
    nodes = {line["node"] for line in lines}
    assert "client" in nodes
    assert sum(node.startswith("server") for node in nodes) == servers
    phases = [line["record"] for line in lines if line["record"]["kind"] == "phase"]
    assert [phase["name"] for phase in phases] == ["warm-up", "measure"]
    verified = sum(sum(phase["bytes_received"]) for phase in phases)
    assert verified == servers * _BLOCK_BYTES * (_ITERATIONS + _WARMUP)
    snapshots = [line for line in lines if line["record"]["kind"] == "snapshot"]
    of_hosts = [line["record"]["raw"] for line in snapshots if line["node"] != "switch"]
    assert len(of_hosts) == 2 * (1 + servers)
    assert all("Tcp: " in raw["/proc/net/snmp"] for raw in of_hosts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(_OLD_TCP, "name linux-6, in topology.", id="TCP"),
        pytest.param(_PAUSE, "Links of namespaces know no PAUSE", id="PAUSE"),
        pytest.param(_TOO_FAST, _SCALE, id="rate", marks=pytest.mark.slow),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused_before_anything_is_made(
    tmp_path: Path, change: dict[str, str], message: str
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(changed(change))
    results = tmp_path / "results"
    code, told = finished(start("run", study, "--testbed", "netns", "--results", results))
    assert code == 2
    assert message in told
    assert not results.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(_OLD_TCP, "name linux-6, in topology.", id="TCP"),
        pytest.param(_TOO_FAST, _SCALE, id="rate", marks=pytest.mark.slow),
    ],
)
def test_what_a_folder_lacks_is_refused_as_a_fresh_run_is(
    tmp_path: Path, change: dict[str, str], message: str
) -> None:
    folder = begun(tmp_path, changed(change))
    code, told = finished(resume(folder))
    assert code == 2
    assert message in told
    assert f"0 of 1 runs are kept in {folder.path}" in told
    assert folder.engine() is None


def test_a_folder_that_lacks_no_run_is_completed_whatever_the_machine_can_do(
    tmp_path: Path,
) -> None:
    folder = begun(tmp_path, changed(_OLD_TCP))
    folder.write_engine(to_json(EngineRecord(version="0.1.0", testbed="netns")).encode() + b"\n")
    for run_ in folder.plan().runs:
        folder.write_run(run_.id, "ok", to_json(synthetic.record(run_)).encode() + b"\n")
    code, told = finished(resume(folder))
    assert code == 0, told
    assert folder.is_done()


def test_a_run_that_the_machine_disturbed_is_repeated_in_a_folder_that_was_done(
    tmp_path: Path,
) -> None:
    folder = begun(tmp_path, study_text())
    folder.begin_session(NOW)
    folder.write_engine(to_json(EngineRecord(version="0.1.0", testbed="netns")).encode() + b"\n")
    (planned,) = folder.plan().runs
    late = TestbedLimit(
        name="late frames", value=5, allowed=1, exceeded=True, invalidates=True, evidence="a clock"
    )
    disturbed = synthetic.record(planned).model_copy(
        update={"status": "invalid", "limits": (late,)}
    )
    folder.write_run(planned.id, "invalid", to_json(disturbed).encode() + b"\n")
    folder.seal(NOW)
    code, told = finished(resume(folder))
    assert folder.is_done(), told
    (made,) = folder.records()
    assert code == (0 if made.status == "ok" else 3), told
    assert "late frames" not in {limit.name for limit in made.limits}
    assert_environments(folder, made)
    (kept,) = folder.set_aside_texts(planned.id)
    assert RunRecord.model_validate_json(kept) == disturbed
    report = (folder.path / "report.md").read_text()
    assert "Attempts that the machine disturbed were set aside and repeated: 1." in report


def test_an_engine_that_is_not_there_is_named_before_anything_is_made(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(study_text())
    command = ("run", study, "--testbed", "netns", "--results", tmp_path / "results")
    code, told = finished(start(*command, NETSTUDY_ENGINE="/nowhere/engine"))
    assert code == 3
    assert "netstudy: NETSTUDY_ENGINE names /nowhere/engine" in told
    assert not (tmp_path / "results").exists()


def test_a_folder_is_not_gone_on_with_by_another_engine(tmp_path: Path) -> None:
    folder = begun(tmp_path, study_text())
    first = b'{"kind":"engine","schema":"netstudy/record/2","version":"0.0.1","testbed":"netns"}\n'
    folder.write_engine(first)
    code, told = finished(start("run", folder.path, "--resume"))
    assert code == 2
    assert "was begun with engine 0.0.1 on testbed netns" in told
    assert folder.records() == []
