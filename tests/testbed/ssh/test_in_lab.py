"""Hosts with a real sshd, in a lab on this machine: what doctor says of each fault."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from netstudy.testbed.real import health
from tests.skips import needs_programs
from tests.testbed.conftest import user_named
from tests.testbed.ssh.lab_runs import STORED
from tests.tools.lab import Lab, lab_of

pytestmark = [pytest.mark.engine, needs_programs("ssh", "sshd", "nft", "ip")]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_of(user_named("root"), "2") as lab:
        yield lab


def doctor(lab: Lab, *, expects: int) -> dict[tuple[str, str], dict[str, Any]]:
    """What doctor says: host and aspect -> the finding."""
    script = f"{lab.user.python} -m netstudy doctor --testbed $NETSTUDY_LAB/hosts.yaml --json"
    done = lab.run(script)
    assert done.code == expects, done.output
    return {(one["host"], one["name"]): one for one in json.loads(done.output)}


def test_two_hosts_are_ready_and_nothing_is_left(lab: Lab) -> None:
    found = doctor(lab, expects=0)
    assert found["h1", "interface"]["found"].startswith("eth0 has 10.98.0.1, ")
    assert found["h1 - h2", "port"]["ok"]
    assert found["h2 - h1", "path MTU"]["found"] == "packets of 1500 bytes pass"
    # Clocks of the lab are 1,000 s apart.
    offsets = [float(found[host, "clock"]["found"].split()[0]) for host in ("h1", "h2")]
    assert offsets[1] - offsets[0] == pytest.approx(1000, abs=0.01)
    assert lab.at("h1", "pgrep -f netstudy-engine.*host").output == ""
    assert lab.run("ls -A $XDG_RUNTIME_DIR").output == ""


def test_only_a_probe_sends_trial_traffic(lab: Lab) -> None:
    sent = "cat /sys/class/net/eth0/statistics/tx_bytes"
    before = int(lab.said("h1", sent))
    doctor(lab, expects=0)
    assert int(lab.said("h1", sent)) - before < 1_000_000
    script = f"{lab.user.python} -m netstudy doctor --testbed $NETSTUDY_LAB/hosts.yaml"
    probed = lab.run(f"{script} --probe --json")
    assert probed.code == 0, probed.output
    trials = [one["found"] for one in json.loads(probed.output) if one["name"] == "trial"]
    line = r"from (h\d) to (h\d): ([\d,.]+) Mbit/s of data; their links have (.*)"
    ways = [match for one in trials if (match := re.fullmatch(line, one))]
    assert [way.groups()[:2] for way in ways] == [("h1", "h2"), ("h2", "h1")], trials
    assert [way[4] for way in ways] == ["10 Gbit/s and 10 Gbit/s"] * 2
    assert all(float(way[3].replace(",", "")) > 1 for way in ways)
    assert lab.at("h1", "pgrep -f netstudy-engine.*host").output == ""


@pytest.mark.parametrize(
    ("fault", "undo", "aspect", "told"),
    [
        ("host-key h1", None, "session", "the host key of h1 is not the known one in"),
        ("lock h1 held", "lock h1 free", "session", "h1 is in use by pid"),
        (
            "home h1 noexec",
            "home h1 exec",
            "session",
            "may not be run there (a mount with noexec?)",
        ),
        ("arch h1 riscv64", "arch h1 off", "session", "there is no engine for riscv64"),
        ("max-sessions h1 0", "max-sessions h1 10", "session", "raise MaxSessions"),
        ("cut h1 control", "join h1 control", "session", "h1 does not answer within 10 s"),
        ("bashrc h1 Welcome", "bashrc h1 off", "start files", 'print a line: "Welcome"'),
    ],
)
def test_each_fault_of_a_host_has_its_sentence(
    lab: Lab, fault: str, undo: str | None, aspect: str, told: str
) -> None:
    before = lab.run("cat ~/.ssh/known_hosts").output
    lab.make(*fault.split())
    try:
        found = doctor(lab, expects=0 if aspect == "start files" else 2)
        assert told in found["h1", aspect]["found"]
        assert found["h2", "log-in"]["ok"], "the other host is checked all the same"
    finally:
        if undo is not None:
            lab.make(*undo.split())
        else:  # the new key is the host's from now on
            lab.run(
                f"grep -v '^h1[ ,]\\|10.99.0.1' >$HOME/known <<'END'\n{before}\nEND\n"
                "ssh-keyscan 10.99.0.1 2>/dev/null >>$HOME/known; mv $HOME/known ~/.ssh/known_hosts"
            )


def test_a_full_disk_is_named_and_nothing_half_is_stored(lab: Lab) -> None:
    lab.run(f"{lab.user.python} -m netstudy clean --testbed $NETSTUDY_LAB/hosts.yaml --yes")
    lab.make("disk", "h2", "full")
    try:
        found = doctor(lab, expects=2)
        assert "the disk is full; free some space" in found["h2", "session"]["found"]
        assert lab.said("h2", "ls -A .cache/netstudy 2>/dev/null; true") == ""
    finally:
        lab.make("disk", "h2", "ok")


@pytest.mark.parametrize(
    ("fault", "undo", "path", "aspect", "told"),
    [
        ("firewall h1 5000-5001", "firewall h1 off", "h2 - h1", "port", "does not answer h2: "),
        (
            "mtu-hole h2 1300",
            "mtu-hole h2 off",
            "h1 - h2",
            "path MTU",
            "packets of 1500 bytes do not pass, of 1280 they do",
        ),
    ],
)
def test_a_fault_between_hosts_names_both(
    lab: Lab, fault: str, undo: str, path: str, aspect: str, told: str
) -> None:
    lab.make(*fault.split())
    try:
        assert told in doctor(lab, expects=2)[path, aspect]["found"]
    finally:
        lab.make(*undo.split())


def test_a_name_that_leads_to_another_host_is_refused(lab: Lab) -> None:
    swapped = "s/ssh: h1,/ssh: x,/; s/ssh: h2,/ssh: h1,/; s/ssh: x,/ssh: h2,/"
    lab.run(f"sed -i '{swapped}' $NETSTUDY_LAB/hosts.yaml")
    try:
        found = doctor(lab, expects=2)
        assert "h1 does not have 10.98.0.1; it has 10.98.0.2" in found["h1", "address"]["found"]
    finally:
        lab.run(f"sed -i '{swapped}' $NETSTUDY_LAB/hosts.yaml")


def test_one_machine_under_two_names_is_told(lab: Lab) -> None:
    lab.run("cp $NETSTUDY_LAB/hosts.yaml $HOME/kept")
    twin = "s/ssh: h2, address: 10.98.0.2/ssh: ns@h1, address: 10.98.0.9/"
    lab.run(f"sed -i '{twin}' $NETSTUDY_LAB/hosts.yaml")
    try:
        found = doctor(lab, expects=2)
        (failed,) = [one for (_, name), one in found.items() if name == "session"]
        assert "are one machine, list it only once" in failed["found"]
    finally:
        lab.run("cp $HOME/kept $NETSTUDY_LAB/hosts.yaml")


TRANSFER = """\
study: transfer
question: Does the link stay up?
factors: {servers: [1]}
topology:
  client: {profile: host-10g, tcp: {profile: linux-6, congestion_control: reno}}
  server:
    profile: host-10g
    count: "${servers}"
    tcp: {profile: linux-6, congestion_control: reno}
  switch: generic-shallow
  link: {rate: 10 Gbit/s, mtu: 1500}
workload: {transfer: {}}
procedure: {warmup: 200 ms, measure: 4 s}
replicates: 1
testbeds: {hosts: {}}
"""
SENT = "$(ssh h2 cat /sys/class/net/eth0/statistics/tx_bytes)"
UNPLUGGING = f"""\
last={SENT}
while :; do
    now={SENT}
    if [ $((now - last)) -gt 10000000 ]; then
        $NETSTUDY_LAB/fault cut h2 test
        $NETSTUDY_LAB/fault join h2 test
    fi
    last=$now
done
"""
"""Pulls the cable of a host that sends much, and plugs it in again."""


@pytest.mark.slow
def test_a_link_that_loses_its_carrier_makes_the_run_be_repeated_and_then_invalid(
    lab: Lab,
) -> None:
    lab.run(
        f"cat >$HOME/study.yaml <<'END'\n{TRANSFER}END\n"
        f"( {UNPLUGGING}) >$HOME/unplugged 2>&1 & echo $! >$HOME/unplugging"
    )
    try:
        ended = lab.run(
            f"cd $HOME; {lab.user.python} -m netstudy run study.yaml "
            "--testbed $NETSTUDY_LAB/hosts.yaml"
        )
    finally:
        lab.run("kill $(cat $HOME/unplugging); sleep 1; $NETSTUDY_LAB/fault join h2 test")
    text = lab.run(f"{lab.user.python} {STORED} $HOME/results").output
    (record,) = (json.loads(one) for one in text.splitlines() if one.startswith('{"kind":"run"'))
    assert record["status"] == "invalid", ended.output
    broken = {check["law"]: check["detail"] for check in record["checks"] if not check["holds"]}
    said = r"the carrier of eth0 at server came or went, \d+ in all"
    assert re.search(said, broken[health.LAW])
    (attempts,) = [one for one in record["limits"] if "attempts" in one["name"]]
    assert attempts["value"] == 2


HOLD = """\
import asyncio, os
from pathlib import Path
from netstudy.inventory import load_inventory
from netstudy.testbed.ssh.hosts import open_hosts
async def main():
    owned = load_inventory(Path(os.environ["NETSTUDY_LAB"], "hosts.yaml"))
    async with open_hosts(owned, list(owned.hosts)) as opened:
        for one in opened.values():
            await one.session.start("h", "agent")
        print("held", flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""
"""A controller with an agent at each host, until it is killed."""
ENGINES = 'ps ax | grep -c "[e]ngine-.* host "'


def test_a_controller_that_is_killed_leaves_nothing_but_the_engine(lab: Lab) -> None:
    held = lab.run(
        f"cat >$HOME/hold.py <<'END'\n{HOLD}END\n"
        f"{lab.user.python} $HOME/hold.py >$HOME/held & echo $! >$HOME/controller\n"
        "until grep -q held $HOME/held; do sleep 0.1; done"
    )
    assert held.code == 0, held.output
    assert [lab.said(host, ENGINES) for host in ("h1", "h2")] == ["1", "1"]
    lab.run("kill -9 $(cat $HOME/controller)")
    for host in ("h1", "h2"):
        gone = lab.at(host, f"until [ $({ENGINES}) = 0 ]; do sleep 0.1; done")
        assert gone.code == 0
    assert lab.run("ps ax | grep -c '[s]sh -[MT] -'").output.strip() == "0"
    doctor(lab, expects=0)
    assert lab.run("ls -A $XDG_RUNTIME_DIR").output == "", "the next one removes its sockets"


def test_clean_removes_the_engine(lab: Lab) -> None:
    doctor(lab, expects=0)
    assert "engine-" in lab.said("h1", "ls .cache/netstudy")
    clean = f"{lab.user.python} -m netstudy clean --testbed $NETSTUDY_LAB/hosts.yaml --yes --json"
    removed = json.loads(lab.run(clean).output)["removed"]
    assert {host: len(names) for host, names in removed.items()} == {"h1": 1, "h2": 1}
    assert lab.said("h1", "ls -A .cache") == ""
