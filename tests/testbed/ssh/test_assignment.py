"""Which host of an inventory plays which node of a study."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.inventory import Inventory, parse_inventory
from netstudy.plan import make_plan
from netstudy.study.loader import load_text
from netstudy.testbed.ssh.assignment import assign, refusals

INCAST = """\
study: small
question: How long does a block take?
factors: {servers: [1, 2, 3]}
topology:
  switch: generic-shallow
  client: host-1g
  server: {profile: host-1g, count: "${servers}"}
  link: {rate: 1 Gbit/s}
workload:
  incast: {block: 32 kB, iterations: 10}
"""
ZONES = """\
study: partitions
question: Does it matter where two zones are?
factors: {where: [inside, across]}
topology:
  switch: generic-shallow
  hosts:
    a:
      profile: host-1g
      interfaces: [e1, e2]
      zones: {zone1: {interface: e1}, zone2: {interface: e2}}
    b: {profile: host-1g, interfaces: [eth0], zones: {zone1: {}}}
  links:
    - {between: [a@e1, switch], rate: 1 Gbit/s}
    - {between: [a@e2, switch], rate: 1 Gbit/s}
    - {between: [b, switch], rate: 1 Gbit/s}
  placement:
    inside: {sender: a.zone1@e1, receiver: a.zone2@e2}
    across: {sender: a.zone1@e1, receiver: b.zone1@eth0}
workload:
  transfer: {size: 1 MB, placement: "${where}"}
"""


def runs(text: str) -> tuple[wire.Run, ...]:
    return make_plan(load_text(text, Path("study.yaml"))).plan.runs


def inventory(hosts: int, roles: str) -> Inventory:
    lines = [f"  h{n}: {{ssh: h{n}, address: 192.0.2.{n}}}" for n in range(1, hosts + 1)]
    return parse_inventory("\n".join(["hosts:", *lines, f"roles: {{{roles}}}"]), "hosts.yaml")


def test_a_level_that_needs_fewer_hosts_takes_the_first_of_a_role() -> None:
    owned = inventory(5, "client: h5, server: [h3, h1, h2]")
    sizes = {run.treatment["servers"]: assign(run.network, owned).hosts for run in runs(INCAST)}
    assert sizes == {
        1: {"client": "h5", "server": "h3"},
        2: {"client": "h5", "server-1": "h3", "server-2": "h1"},
        3: {"client": "h5", "server-1": "h3", "server-2": "h1", "server-3": "h2"},
    }
    assert refusals(runs(INCAST), owned, "hosts.yaml") == []


def test_an_endpoint_has_the_address_of_its_host() -> None:
    assigned = assign(runs(INCAST)[-1].network, inventory(4, "client: h4, server: [h1, h2, h3]"))
    found = assigned.address("server-2@eth0")
    assert (found.host, found.ip, found.device) == ("h2", IPv4Address("192.0.2.2"), None)
    assert assigned.address("client").ip == IPv4Address("192.0.2.4")
    assert assigned.of_host("h2") == (found,)


def test_the_largest_level_without_enough_hosts_is_refused_with_both_numbers() -> None:
    few = inventory(3, "client: h3, server: [h1, h2]")
    assert refusals(runs(INCAST), few, "hosts.yaml") == [
        "Level 3 of `servers` needs 3 hosts of group server; hosts.yaml has 2: add some to "
        "roles.server."
    ]


def test_without_a_role_a_node_is_the_host_of_its_name() -> None:
    text = "hosts: {client: {ssh: c, address: 192.0.2.1}, server: {ssh: s, address: 192.0.2.2}}"
    named = parse_inventory(text, "hosts.yaml")
    assert assign(runs(INCAST)[0].network, named).hosts == {"client": "client", "server": "server"}
    assert refusals(runs(INCAST), named, "hosts.yaml") == [
        "Level 3 of `servers` needs 3 hosts of group server; hosts.yaml has no roles.server: list "
        "hosts there."
    ]


def test_one_host_cannot_be_two_nodes() -> None:
    twice = inventory(3, "client: h1, server: [h1, h2, h3]")
    (said,) = {line for line in refusals(runs(INCAST), twice, "hosts.yaml") if "server-1" in line}
    assert said.startswith("Host h1 would be client and server-1, whose traffic would not leave it")


@pytest.mark.parametrize("missing", ["e1", "e2", "zone1", "zone2"])
def test_each_interface_and_each_zone_needs_an_address_under_its_name(missing: str) -> None:
    names = {"e1": 1, "e2": 2, "zone1": 3, "zone2": 4}
    entries = [f"{name}: {{address: 192.0.2.{n}}}" for name, n in names.items() if name != missing]
    text = f"""\
hosts:
  h1: {{ssh: h1, interfaces: {{{", ".join(entries)}}}}}
  h2: {{ssh: h2, interfaces: {{eth0: {{address: 192.0.2.8}}, zone1: {{address: 192.0.2.9}}}}}}
roles: {{a: h1, b: h2}}
"""
    (said,) = refusals(runs(ZONES), parse_inventory(text, "hosts.yaml"), "hosts.yaml")
    assert said.endswith(f"hosts.yaml needs hosts.h1.interfaces.{missing}.")
    assert said.startswith("Zone a." if missing.startswith("zone") else f"Interface {missing} of a")


def test_a_zone_has_its_own_address_at_its_interface() -> None:
    text = """\
hosts:
  h1:
    ssh: h1
    interfaces:
      e1: {address: 192.0.2.1}
      e2: {address: 192.0.2.2}
      zone1: {address: 192.0.2.3}
      zone2: {device: ens2, address: 192.0.2.4}
  h2: {ssh: h2, interfaces: {eth0: {address: 192.0.2.8}, zone1: {address: 192.0.2.9}}}
roles: {a: h1, b: h2}
"""
    assigned = assign(runs(ZONES)[0].network, parse_inventory(text, "hosts.yaml"))
    zone = assigned.address("a.zone2")
    assert (zone.port, zone.device, str(zone.ip)) == ("e2", "ens2", "192.0.2.4")
    assert str(assigned.address("a").ip) == "192.0.2.1"
    assert str(assigned.address("a@e2").ip) == "192.0.2.2"


def test_a_single_address_serves_only_a_host_with_one_interface() -> None:
    said = refusals(runs(ZONES), inventory(2, "a: h1, b: h2"), "hosts.yaml")
    assert "Interface e1 of a has no address: hosts.yaml needs hosts.h1.interfaces.e1." in said
    assert not [line for line in said if "Interface eth0 of b" in line]
