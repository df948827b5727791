"""Hosts with Debian's Linux 6.1, in an emulator: an older kernel, a clock that is set, and a host
that goes away, while a study runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.testbed.conftest import user_named
from tests.testbed.ssh.lab_runs import STORED, causes
from tests.tools.guests import Guests, guests_of, needs_guests

pytestmark = [pytest.mark.engine, pytest.mark.slow, *needs_guests]

HOSTS = """\
hosts:
  h1: {ssh: h1, address: 10.98.0.1}
  h2: {ssh: h2, address: 10.98.0.2}
roles: {client: [h1], server: [h2]}
allow: {other_cpu: 100 %, other_traffic: 100 %}
"""
STUDY = """\
study: {name}
question: What do these hosts carry?
factors: {{servers: [1]}}
topology:
  client: {{profile: host-1g, tcp: {{profile: linux-6, congestion_control: cubic}}}}
  server:
    profile: host-1g
    count: "${{servers}}"
    tcp: {{profile: linux-6, congestion_control: cubic}}
  switch: generic-shallow
  link: {{rate: 20 Mbit/s, mtu: 1500}}
workload:
  {workload}
{more}
replicates: {replicates}
testbeds: {{hosts: {{}}}}
"""
TIMED = "procedure: {warmup: 200 ms, measure: 2 s}"
LONG = "procedure: {warmup: 200 ms, measure: 15 s}"
STUDIES = {
    "incast": ("incast: {block: 50 kB, iterations: 5, warmup: 1}", "", 1),
    "transfer": ("transfer: {size: 100 kB}", TIMED, 1),
    "clock": ("transfer: {size: 100 kB}", LONG, 1),
    "reboot": ("transfer: {size: 100 kB}", LONG, 2),
}


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guests]:
    folder = tmp_path_factory.mktemp("guests")
    with guests_of(user_named("root"), folder, 2) as guests:
        (folder / "home/hosts.yaml").write_text(HOSTS)
        for name, (workload, more, replicates) in STUDIES.items():
            text = STUDY.format(name=name, workload=workload, more=more, replicates=replicates)
            (folder / f"home/{name}.yaml").write_text(text)
        yield guests


SENT = "awk '/t2:/ {print $2}' /proc/net/dev"
"""Prints how many bytes the second guest has sent over the test network."""


def netstudy(guests: Guests, words: str) -> str:
    return f"cd $HOME; {guests.user.python} -m netstudy {words}"


def command(guests: Guests, name: str) -> str:
    words = f"run {name}.yaml --testbed hosts.yaml --results results-{name}"
    return netstudy(guests, words)


def records(guests: Guests, name: str) -> list[dict[str, Any]]:
    text = guests.run(f"{guests.user.python} {STORED} $HOME/results-{name}").output
    return [json.loads(line) for line in text.splitlines() if line.startswith('{"kind":"run"')]


def under_way(guests: Guests, name: str) -> None:
    """Start a study, and wait until its bytes flow."""
    before = int(guests.run(SENT).output)
    guests.run(f"rm -rf $HOME/results-{name}")
    guests.run(f"( {command(guests, name)} ) >$HOME/said 2>&1 & echo $! >$HOME/controller")
    guests.run(
        f"until [ $({SENT}) -gt {before + 1_000_000} ] || ! kill -0 $(cat $HOME/controller); "
        "do sleep 0.2; done"
    )
    assert int(guests.run(SENT).output) > before + 1_000_000, ended(guests)


def ended(guests: Guests) -> str:
    """Wait for the end of the study that is under way; its output."""
    return guests.run("tail --pid $(cat $HOME/controller) -f /dev/null; cat $HOME/said").output


def left_behind(guests: Guests, host: str) -> str:
    """Processes of netstudy at a host."""
    return guests.at(host, "ps -o args | grep '[e]ngine-' || true").output


def test_doctor_tells_the_kernel(guests: Guests) -> None:
    done = guests.run(netstudy(guests, "doctor --testbed hosts.yaml --json"))
    assert done.code == 0, done.output
    found = {(one["host"], one["name"]): one for one in json.loads(done.output)}
    assert found["h1", "system"]["found"].startswith("Linux 6.1.")


@pytest.mark.parametrize("name", ["incast", "transfer"])
def test_linux_6_1_reports_all_but_the_timeouts_of_a_connection(guests: Guests, name: str) -> None:
    done = guests.run(command(guests, name))
    (record,) = records(guests, name)

    assert record["status"] == "ok", (done.output, record["error"], record["checks"])
    samples = record["samples"]
    tables = [one for one in (samples["connection"], samples.get("iteration")) if one is not None]
    for table in tables:
        assert table["timeouts"] is None
        assert table["retransmissions"] is not None


def test_a_clock_that_is_set_ahead_in_the_run_changes_no_time(guests: Guests) -> None:
    under_way(guests, "clock")
    before = int(guests.said("root@h2", "date +%s"))
    guests.said("root@h2", "date -s '+1 hour'")
    said = ended(guests)

    assert int(guests.said("h2", "date +%s")) - before > 3_600
    (record,) = records(guests, "clock")
    assert record["status"] == "ok", (said, record["error"], record["checks"])
    (measure,) = [one for one in record["phases"] if one["kind"] == "measure"]
    assert 15e9 <= measure["end_ns"] - measure["start_ns"] < 20e9


def test_a_host_that_reboots_in_a_run_is_named(guests: Guests) -> None:
    """The run is repeated if the host is back within a minute; else the study says how to
    continue."""
    boot = guests.said("h2", "cat /proc/sys/kernel/random/boot_id")
    under_way(guests, "reboot")
    guests.said("root@h2", "(sleep 0.5; reboot -f) >/dev/null 2>&1 &")
    said = ended(guests)
    guests.wait("h2")

    made = records(guests, "reboot")
    assert "server: h2 has " in causes(made), said
    assert [one["status"] for one in made] == ["ok", "ok"] or (
        "netstudy: h2: there is no route to h2" in said
        and "1 of 2 runs is kept" in said
        and "--resume" in said
    ), said
    assert guests.said("h2", "cat /proc/sys/kernel/random/boot_id") != boot
    assert [left_behind(guests, host) for host in ("h1", "h2")] == ["", ""]
