"""CPUs, buses and disks of simulated hosts: from studies and profiles to the wire, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary
from netstudy.plan import make_plan
from netstudy.plan.support import unsupported
from netstudy.study import load

PROFILE = """\
profile: worker
kind: host
title: A host that works
nic:
  rate: {value: 1 Gbit/s, source: assumed, from: an example}
cpu:
  cpus: {value: 4, source: assumed, from: an example}
  send_per_byte: {value: 2.5 ns/B, source: assumed, from: an example}
bus:
  io_channels: {value: 2, source: assumed, from: an example}
  io_channel_rate: {value: 2 Gbit/s, source: assumed, from: an example}
"""
STUDY = """\
study: work
question: How long does it take?
factors:
  size: [1 MB, 2 MB]
topology:
  hosts:
    server: {server}
    client: {{profile: host-1g}}
  switch: {{profile: generic-shallow}}
  link: {{rate: 1 Gbit/s}}
workload:
  transfer: {{servers: server, clients: client, size: "${{size}}"}}
procedure: {{measure: 2 s}}
"""


def server(folder: Path, said: str, profile: str = PROFILE) -> wire.Group:
    """The server's group in the plan."""
    (folder / "hardware").mkdir(exist_ok=True)
    (folder / "hardware/worker.yaml").write_text(profile, encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY.format(server=said), encoding="utf-8")
    study = load(folder)
    hardware = HardwareLibrary.default(folder)
    return make_plan(study, hardware=hardware).plan.runs[0].network.group("server")


def refusal(folder: Path, said: str, profile: str = PROFILE) -> str:
    with pytest.raises(StudyError) as refused:
        server(folder, said, profile)
    return str(refused.value)


def test_a_profiles_costs_are_on_the_wire_and_a_study_changes_them(tmp_path: Path) -> None:
    found = server(tmp_path, "{profile: worker, cpu: {per_call: 3 us}, disk: {rate: 80 Mbit/s}}")
    assert found.cpu == wire.Cpu(cpus=4, send_ps_per_byte=2_500, call_ns=3_000)
    assert found.bus == wire.Bus(io_channels=2, io_channel_bps=2_000_000_000)
    assert found.disk == wire.Disk(disk_rate_bps=80_000_000)


def test_a_host_without_costs_has_none_of_the_parts(tmp_path: Path) -> None:
    found = server(tmp_path, "{profile: host-1g}")
    assert (found.cpu, found.bus, found.disk) == (None, None, None)


def test_cpus_of_a_host_are_those_that_share_its_work(tmp_path: Path) -> None:
    found = server(tmp_path, "{profile: worker, cpus: 2}")
    assert found.cpu is not None
    assert found.cpu.cpus == 2


def test_cpus_without_work_are_refused(tmp_path: Path) -> None:
    assert "has no effect where no work costs CPU time" in refusal(
        tmp_path, "{profile: host-1g, cpus: 2}"
    )


def test_packets_cost_cpu_time_at_one_place(tmp_path: Path) -> None:
    said = "{profile: worker, nic: {receive_per_frame: 1 us}}"
    assert "say it once" in refusal(tmp_path, said)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("send_per_byte: {value: 2.5 ns,", "ns/B"),
        ("send_per_byte: {value: 2.5 MB/s,", "ns/B"),
        ("send_per_frame: {value: 2 us,", "send_per_frame"),
        ("send_per_packet: {value: 3,", "send_per_packet"),
        ("service: {value: random,", "service"),
    ],
)
def test_a_wrong_figure_of_a_profile_is_refused_by_name(
    tmp_path: Path, wrong: str, message: str
) -> None:
    profile = PROFILE.replace("send_per_byte: {value: 2.5 ns/B,", wrong)
    found = refusal(tmp_path, "{profile: worker}", profile)
    assert message in found
    assert "worker.yaml" in found


def test_a_wrong_setting_of_a_study_is_refused_by_name(tmp_path: Path) -> None:
    assert "ns/B" in refusal(tmp_path, "{profile: worker, cpu: {send_per_byte: 2 us}}")
    assert "sendper" in refusal(tmp_path, "{profile: worker, cpu: {sendper: 2 us}}")


def test_real_hosts_have_their_own_cpus(tmp_path: Path) -> None:
    server(tmp_path, "{profile: worker, cpu: {per_call: 3 us}, cpus: 2}")
    found = unsupported(load(tmp_path), "netns")
    assert any("The cpus and cpu of host server can only be simulated" in one for one in found)
    assert not unsupported(load(tmp_path), "sim")


@pytest.mark.parametrize("name", ["hp-n4000", "nt-client-450"])
def test_the_gigabit_hosts_have_one_fitted_figure_each(name: str) -> None:
    rows = HardwareLibrary.default().rows("host", name)
    fitted = {row.name for row in rows if row.source == "fitted"}
    assert (
        fitted
        == {
            "hp-n4000": {"cpu.send_per_packet"},
            "nt-client-450": {"cpu.receive_per_byte"},
        }[name]
    )


TIERS = """\
study: tiers
question: Which zone answers sooner?
factors: {users: [3, 4]}
topology:
  hosts:
    load: {profile: host-1g}
    app: {profile: host-1g, interfaces: [front], zones: {a: {}, b: {}}}
    store: {profile: host-1g, interfaces: [x, y], zones: {z: {}}}
  switch: generic-shallow
  links:
    - {between: [load, switch], rate: 1 Gbit/s}
    - {between: [app, switch], rate: 1 Gbit/s}
    - {between: [store@x, switch], rate: 1 Gbit/s, unused: true}
    - {between: [store@y, switch], rate: 1 Mbit/s, unused: true}
workload:
  transactions: {application: brokerage, clients: load, closed: {users: "${users}"}, PLACES}
procedure: {measure: 1 s}
"""
_SAID = (
    "The {} is {}, a zone of a host whose number of CPUs is not known; the simulator needs "
    "topology.hosts.{}.cpus."
)


@pytest.mark.parametrize(
    ("places", "cpus", "said"),
    [
        ("server: app.a, database: store", "", [_SAID.format("server", "app.a", "app")]),
        ("server: app, database: store.z", "", [_SAID.format("database", "store.z", "store")]),
        ("server: app.a, database: app.b", "", [
            _SAID.format("server", "app.a", "app"), _SAID.format("database", "app.b", "app"),
        ]),
        ("server: app.a, database: app.b", "cpus: 2, ", []),
        ("server: app, database: app.b", "", []),
        ("server: app.a, database: app", "", []),
        ("server: app, database: store@x", "", []),
    ],
)  # fmt: skip
def test_a_tier_in_a_zone_needs_the_cpus_of_its_host(
    tmp_path: Path, places: str, cpus: str, said: list[str]
) -> None:
    text = TIERS.replace("PLACES", places).replace("app: {", f"app: {{{cpus}")
    (tmp_path / "study.yaml").write_text(text)
    study = load(tmp_path)
    assert unsupported(study, "sim") == said
    assert unsupported(study, "netns") == []


def test_a_database_is_asked_at_the_interface_that_its_place_names(tmp_path: Path) -> None:
    places = "server: app, database: store.z@y"
    (tmp_path / "study.yaml").write_text(TIERS.replace("PLACES", places))
    (zone,) = (
        zone
        for zone in make_plan(load(tmp_path)).plan.runs[0].network.zones
        if zone.host == "store"
    )
    assert zone.interface == "y"
