"""The poller against real agents: net-snmp's snmpd, and agents that fall silent or answer wrong.

Everything happens on the loopback interface.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from netstudy.errors import TestbedError
from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.namespaces import program
from netstudy.testbed.real.secrets import secret
from netstudy.testbed.real.snmp import Polls, course, refresh_ns
from netstudy.testbed.real.snmp_wire import (
    Community,
    Credentials,
    Privacy,
    SnmpPlan,
    SnmpPort,
    SnmpRecord,
    SnmpSamples,
    User,
)
from netstudy.wire import SecretSource, to_json
from tests.skips import needs_programs, or_skip

pytestmark = pytest.mark.engine

EXAMPLES = Path(__file__).parents[2] / "schema/examples"
RECORD: TypeAdapter[SnmpRecord] = TypeAdapter(SnmpRecord)
COMMUNITY = "hush-2c"
USER, SIGNED, SEALED = "reader", "hush-signed", "hush-sealed"
TIME_LIMIT_S = 60
TEN_GBPS = 10_000_000_000
REFRESH_S = 3.1
"""How old the counters may be that net-snmp shows, and a little more."""

needs_snmpd = needs_programs("snmpd")


class Poller:
    """A poller and what it says."""

    def __init__(self, plan: SnmpPlan) -> None:
        with or_skip():
            engine = find_engine()
        self.process = subprocess.Popen(
            [engine, "snmp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin is not None
        self.process.stdin.write(to_json(plan) + "\n")
        self.process.stdin.flush()

    def tell(self, command: str, **arguments: str) -> None:
        """A command."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
        self.process.stdin.flush()

    def next(self) -> SnmpRecord:
        """Its next record."""
        assert self.process.stdout is not None
        return RECORD.validate_json(self.process.stdout.readline())

    def stop(self) -> dict[str, SnmpSamples]:
        """What it has read, by port."""
        self.tell("stop")
        found: dict[str, SnmpSamples] = {}
        while (record := self.next()).kind != "end":
            if record.kind == "samples":
                found[record.port] = record
        return found

    def close(self) -> str:
        """Ends it; what it wrote for people."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(TIME_LIMIT_S)
        finally:
            self.process.kill()
        assert self.process.stdout is not None
        self.process.stdout.close()
        with self.process.stderr as errors:
            return errors.read()


@contextmanager
def polling(plan: SnmpPlan) -> Iterator[Poller]:
    poller = Poller(plan)
    try:
        yield poller
    finally:
        poller.close()


def plan_for(
    port: int, credentials: Credentials | None = None, *, every_ms: int = 100, name: str = "lo"
) -> SnmpPlan:
    return SnmpPlan(
        run="5c0ffee00001",
        switch="switch",
        agent=f"127.0.0.1:{port}",
        credentials=credentials or Community(community=COMMUNITY),
        ports=(SnmpPort(port="server", name=name),),
        every_ns=every_ms * 1_000_000,
        timeout_ns=every_ms * 500_000,
        time_limit_ms=1_000 * TIME_LIMIT_S,
    )


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def snmpd(tmp_path: Path) -> Iterator[int]:
    """net-snmp's agent on this machine; its UDP port."""
    port = free_port()
    (tmp_path / "snmpd.conf").write_text(
        f"agentAddress udp:127.0.0.1:{port}\n"
        f"rocommunity {COMMUNITY} 127.0.0.1\n"
        f'createUser {USER} SHA "{SIGNED}" AES "{SEALED}"\n'
        f"rouser {USER} auth\n"
    )
    process = subprocess.Popen(
        [program("snmpd"), "-f", "-Le", "-C", "-c", tmp_path / "snmpd.conf"],
        env=os.environ | {"SNMP_PERSISTENT_DIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "NET-SNMP version" in line:
            break
    try:
        yield port
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@contextmanager
def traffic() -> Iterator[None]:
    """Datagrams over the loopback interface all the time, at 1 MB/s or so."""
    done = threading.Event()
    port = free_port()

    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as source:
            while not done.wait(0.01):
                source.sendto(bytes(10_000), ("127.0.0.1", port))

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_the_example_plans_are_read_and_written_without_loss() -> None:
    for line in (EXAMPLES / "snmp-plans.jsonl").read_text(encoding="utf-8").splitlines():
        plan = SnmpPlan.model_validate_json(line)
        assert json.loads(to_json(plan)) == json.loads(line)
        assert "hush" not in repr(plan)


def test_the_example_records_are_read_and_written_without_loss() -> None:
    lines = (EXAMPLES / "snmp-records.jsonl").read_text(encoding="utf-8").splitlines()
    for line in lines:
        assert json.loads(to_json(RECORD.validate_json(line))) == json.loads(line)
    kinds = {json.loads(line)["kind"] for line in lines}
    assert kinds == {"ready", "snapshot", "samples", "error", "end"}


def test_a_user_without_a_password_is_no_user() -> None:
    plan = json.loads((EXAMPLES / "snmp-plans.jsonl").read_text().splitlines()[1])
    del plan["credentials"]["authentication_password"]
    with pytest.raises(ValidationError, match="authentication_password"):
        SnmpPlan.model_validate(plan)


@needs_snmpd
@pytest.mark.parametrize(
    "credentials",
    [
        Community(community=COMMUNITY),
        User(user=USER, authentication="SHA", authentication_password=SIGNED),
        User(
            user=USER,
            authentication="SHA",
            authentication_password=SIGNED,
            privacy=Privacy(cipher="AES", password=SEALED),
        ),
    ],
    ids=["v2c", "v3 signed", "v3 signed and encrypted"],
)
def test_net_snmps_agent_is_read(snmpd: int, credentials: Credentials) -> None:
    before = sent_octets()
    time.sleep(REFRESH_S)  # what the agent shows may have been read so long ago
    with traffic(), polling(plan_for(snmpd, credentials)) as poller:
        ready = poller.next()
        assert ready.kind == "ready", ready
        assert ready.name == socket.gethostname()
        time.sleep(1)
        poller.tell("snapshot", name="edge")
        while (record := poller.next()).kind != "snapshot":
            pass
        assert record.answered
        samples = poller.stop()["server"]
    after = sent_octets()
    assert len(samples.sent_ns) >= 5
    assert set(samples.why) == {None}
    found = course(samples, TEN_GBPS)
    octets = [value for value in found.values["bytes_forwarded"] if value is not None]
    assert before <= octets[0] <= octets[-1] <= after, "those of the kernel, of 64 bits"
    assert octets[-1] > octets[0] or refresh_ns(samples, 100_000_000) is None


def sent_octets() -> int:
    line = next(one for one in Path("/proc/net/dev").read_text().splitlines() if "lo:" in one)
    return int(line.split(":")[1].split()[8])


@needs_snmpd
def test_the_interval_at_which_net_snmp_refreshes_is_found_to_be_3_s(snmpd: int) -> None:
    with traffic(), polling(plan_for(snmpd, every_ms=500)) as poller:
        assert poller.next().kind == "ready"
        time.sleep(14)
        samples = poller.stop()["server"]
    polls = Polls(
        switch="switch",
        from_="monitor",
        every_ns=500_000_000,
        own_port="monitor",
        samples=(samples,),
        edges={},
        rates_bps={"server": TEN_GBPS},
    )
    assert polls.is_slow
    assert polls.refresh_ns is not None
    # The first poll behind 3 s refreshes them: one is every half second.
    assert 2.9e9 <= polls.refresh_ns <= 3.6e9
    found = polls.course("server")
    assert len(found.at_ns) <= 7 < len(samples.sent_ns), "polls without news are left out"


@needs_snmpd
@pytest.mark.parametrize(
    ("credentials", "wrong"),
    [
        (Community(community="public"), "the community is wrong, or there is no agent"),
        (
            User(user=USER, authentication="SHA", authentication_password="not-the-password"),
            "is the user or a password right?",
        ),
        (
            User(user="nobody", authentication="SHA", authentication_password=SIGNED),
            "is the user or a password right?",
        ),
    ],
    ids=["community", "password", "user"],
)
def test_who_may_not_read_is_told_so(snmpd: int, credentials: Credentials, wrong: str) -> None:
    poller = Poller(plan_for(snmpd, credentials))
    record = poller.next()
    assert record.kind == "error"
    assert wrong in record.message, record.message
    assert f"switch at 127.0.0.1:{snmpd}" in record.message
    said = poller.close()
    assert poller.process.returncode == 3
    for text in (record.message, said):
        assert "public" not in text
        assert "hush" not in text
        assert "not-the-password" not in text


@needs_snmpd
def test_a_port_that_the_switch_does_not_have_is_refused_with_those_that_it_has(
    snmpd: int,
) -> None:
    with polling(plan_for(snmpd, name="ge-0/0/7")) as poller:
        record = poller.next()
    assert record.kind == "error"
    assert record.message.startswith('switch has no port "ge-0/0/7"; it has ')
    assert "lo" in record.message


def test_where_there_is_no_agent_that_is_said() -> None:
    with polling(plan_for(free_port())) as poller:
        record = poller.next()
    assert record.kind == "error"
    assert "does not answer SNMP: the community is wrong, or there is no agent" in record.message


@needs_snmpd
def test_an_agent_that_stops_answering_leaves_gaps_and_a_late_answer_is_not_the_next_ones(
    snmpd: int,
) -> None:
    with between(snmpd) as (port, relay), polling(plan_for(port)) as poller:
        assert poller.next().kind == "ready"
        time.sleep(0.5)
        relay.hold()
        time.sleep(0.6)
        relay.release()  # all held answers come now, each too late
        time.sleep(0.6)
        samples = poller.stop()["server"]
    silent = [why for why in samples.why if why is not None]
    assert 3 <= len(silent) <= 8
    assert set(silent) == {"no answer for 50 ms"}
    up = samples.values["sysUpTime"]
    assert [value is None for value in up] == [why is not None for why in samples.why]
    # Each answer is of its own request: the agent's time goes on as ours does.
    known = [(sent / 1e7, value) for sent, value in zip(samples.sent_ns, up, strict=True) if value]
    late = [value - (sent - known[0][0]) - known[0][1] for sent, value in known]
    assert all(abs(one) <= 5 for one in late), late
    assert [why for _, why in course(samples, TEN_GBPS).unanswered] == silent


class Relay:
    """Passes datagrams between pollers and an agent, and can hold answers back."""

    def __init__(self, agent: int) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.05)
        self.agent = ("127.0.0.1", agent)
        self._held: list[tuple[bytes, Any]] | None = None
        self._lock = threading.Lock()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._pass_on)
        self._thread.start()

    def _pass_on(self) -> None:
        while not self._ends.is_set():
            try:
                data, asker = self.socket.recvfrom(65_535)
            except TimeoutError:
                continue
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
                own.settimeout(1)
                own.sendto(data, self.agent)
                answer = own.recv(65_535)
            with self._lock:
                if self._held is None:
                    self.socket.sendto(answer, asker)
                else:
                    self._held.append((answer, asker))

    def hold(self) -> None:
        """Answers wait from now on."""
        with self._lock:
            self._held = []

    def release(self) -> None:
        """They come now."""
        with self._lock:
            for answer, asker in self._held or []:
                self.socket.sendto(answer, asker)
            self._held = None

    def end(self) -> None:
        """Stop passing on."""
        self._ends.set()
        self._thread.join()
        self.socket.close()


@contextmanager
def between(agent: int) -> Iterator[tuple[int, Relay]]:
    relay = Relay(agent)
    try:
        yield relay.socket.getsockname()[1], relay
    finally:
        relay.end()


def test_a_secret_is_found_where_the_study_says_and_missed_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_COMMUNITY", "hush")
    assert secret(SecretSource(env="THE_COMMUNITY"), "the community") == "hush"
    monkeypatch.delenv("THE_COMMUNITY")
    with pytest.raises(TestbedError, match="variable THE_COMMUNITY with the community is not set"):
        secret(SecretSource(env="THE_COMMUNITY"), "the community")
    place = tmp_path / "community"
    with pytest.raises(TestbedError, match="with the community cannot be read: No such file"):
        secret(SecretSource(file=str(place)), "the community")
    place.write_text("hush\nand a second line\n")
    assert secret(SecretSource(file=str(place)), "the community") == "hush"
    place.write_text("\n")
    with pytest.raises(TestbedError, match="should be the community: it is empty"):
        secret(SecretSource(file=str(place)), "the community")
