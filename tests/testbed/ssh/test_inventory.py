"""Inventories of hosts: what they may say, and the place and remedy of each mistake."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path

import jsonschema
import pytest

from netstudy.documents.source import read_text
from netstudy.errors import StudyError
from netstudy.inventory import Ports, is_inventory, json_schema, load_inventory, parse_inventory

TWO = """\
hosts:
  alpha: {ssh: alpha.lab, address: 192.0.2.11}
  beta: {ssh: ns@10.0.0.2, interfaces: {eth0: {device: ens1f0, address: 192.0.2.12}}}
roles: {client: alpha, server: [beta]}
ports: 5000-5099
lease: 10s
allow: {other_traffic: 0.25 %}
"""


def test_a_whole_inventory_is_read() -> None:
    found = parse_inventory(TWO, "hosts.yaml")
    alpha, beta = found.hosts["alpha"], found.hosts["beta"]
    assert alpha.addresses == (IPv4Address("192.0.2.11"),)
    assert beta.interface("eth0") == (IPv4Address("192.0.2.12"), "ens1f0")
    assert beta.interface("eth1") is None
    assert found.roles == {"client": ("alpha",), "server": ("beta",)}
    assert found.ports == Ports(5000, 5099)
    assert found.lease == 10 * 10**9
    assert (found.allow.other_traffic, found.allow.other_cpu) == (0.25, 5.0)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("ssh: alpha.lab", "ssh: -oProxyCommand=x", '2:16: hosts.alpha.ssh: "-oProxyCommand=x" is'),
        ("ssh: alpha.lab", "ssh: ssh://alpha", "not a destination of ssh; write a Host of"),
        ("ssh: alpha.lab", "ssh: ns@-v", "is not a destination of ssh"),
        ("ssh: alpha.lab, ", "", "2:3: hosts.alpha.ssh: the key is missing"),
        ("192.0.2.11", "192.0.2.300", "must be an IPv4 address such as 192.0.2.11, not"),
        ("192.0.2.11", "127.0.0.1", "is not an address that other hosts can reach"),
        ("192.0.2.11", "192.0.2.12", "192.0.2.12 belongs to host alpha too"),
        (", address: 192.0.2.11", "", "needs the address of its test interface"),
        ("alpha.lab", "ns@10.0.0.2", "hosts.beta.ssh: ns@10.0.0.2 is host alpha too"),
        ("device: ens1f0", "device: a/b", "is not the name of a network interface"),
        ("alpha.lab,", "alpha.lab, engine: here,", "must be an absolute path, or begin with ~/"),
        ("client: alpha", "client: alhpa", 'no host "alhpa"; did you mean "alpha"?'),
        ("[beta]", "[beta, beta]", "4:39: roles.server.1: beta is listed twice"),
        ("5000-5099", "80-90", "must be an ascending range within 1024-65535, not 80-90"),
        ("5000-5099", "5000", "must be a range of ports such as 5000-5099, not 5000"),
        ("10s", "1s", "lease: must be at least 2 s, not 1s"),
        ("ports:", "port:", 'port: unknown key; did you mean "ports"?'),
        ("ports: 5000-5099", "switches: {}", "the counters of real switches cannot be read yet"),
    ],
)
def test_each_mistake_has_its_place_and_its_remedy(old: str, new: str, told: str) -> None:
    assert old in TWO
    with pytest.raises(StudyError) as refusal:
        parse_inventory(TWO.replace(old, new, 1), "hosts.yaml")
    assert told in str(refusal.value)
    assert str(refusal.value).startswith("hosts.yaml:")


def test_an_inventory_needs_a_host() -> None:
    with pytest.raises(StudyError, match="hosts"):
        parse_inventory("hosts: {}", "hosts.yaml")


def test_the_template_is_an_inventory_and_holds_to_the_schema() -> None:
    path = Path(__file__).parents[3] / "python/netstudy/cli/templates/hosts/hosts.yaml"
    assert list(load_inventory(path).hosts) == ["alpha", "beta"]
    document = read_text(path.read_text(), "hosts.yaml")
    assert is_inventory(document)
    jsonschema.Draft202012Validator(json_schema()).validate(document.data)


def test_a_study_is_not_an_inventory() -> None:
    assert not is_inventory(read_text("study: a\nhosts: {}\n", "study.yaml"))
