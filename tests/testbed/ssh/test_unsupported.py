"""Parts of studies that hosts cannot give, refused before any host is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.inventory import parse_inventory
from netstudy.plan import make_plan
from netstudy.study import load, quick_only
from netstudy.study.loader import load_text
from netstudy.testbed.ssh.unsupported import unsupported
from tests.testbed.ssh.test_assignment import INCAST, ZONES

STUDIES = Path(__file__).parents[3] / "studies"
OWNED = parse_inventory(
    """\
hosts:
  h1: {ssh: h1, address: 192.0.2.1}
  h2: {ssh: h2, address: 192.0.2.2}
  h3: {ssh: h3, address: 192.0.2.3}
  h4: {ssh: h4, address: 192.0.2.4}
  z1:
    ssh: z1
    interfaces:
      e1: {address: 192.0.2.11}
      e2: {address: 192.0.2.12}
      zone1: {address: 192.0.2.13}
      zone2: {address: 192.0.2.14}
  z2: {ssh: z2, interfaces: {eth0: {address: 192.0.2.21}, zone1: {address: 192.0.2.22}}}
roles: {client: h1, server: [h2, h3, h4], a: z1, b: z2}
""",
    "hosts.yaml",
)


def refused(text: str) -> list[str]:
    plan = make_plan(load_text(text, Path("study.yaml"))).plan
    return unsupported(plan, OWNED, "hosts.yaml")


def test_a_study_that_hosts_can_carry_out_is_supported() -> None:
    assert refused(INCAST) == []
    assert refused(ZONES) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("count:", "cpu_quota: 50 %, count:", "The cpu_quota of server cannot be set on hosts"),
        ("count:", "queue: codel, count:", "is a host and has the queues of its kernel"),
        ("rate: 1 Gbit/s", "rate: 1 Gbit/s, loss: 1 %", "has loss, jitter, duplicates or a delay"),
        (
            "rate: 1 Gbit/s",
            "rate: {up: 1 Gbit/s, down: 100 Mbit/s}",
            "interfaces of hosts have one",
        ),
        (
            "workload:",
            "instruments: [{ports: switch, every: 1 s}]\nworkload:",
            "The ports of switch cannot be read on hosts yet",
        ),
        (
            "workload:",
            "instruments: [{sar: client, every: 1 s, sysstat: true}]\nworkload:",
            "sysstat's sar at client cannot be started",
        ),
    ],
)
def test_each_part_that_hosts_lack_is_named(old: str, new: str, told: str) -> None:
    assert old in INCAST
    said = refused(INCAST.replace(old, new, 1))
    assert said
    assert [line for line in said if told not in line] == []


def test_zones_with_a_stack_each_are_refused() -> None:
    (said,) = refused(ZONES.replace("profile: host-1g,", "profile: host-1g, stack: own,"))
    assert said == (
        "The zones of b have a network stack each, which hosts do not have: write stack: shared."
    )


def test_an_application_is_refused() -> None:
    study = load(STUDIES / "trade")
    plan = make_plan(study, only=quick_only(study)).plan_of_one_each
    said = unsupported(plan, OWNED, "hosts.yaml")
    assert "An application cannot run on hosts yet: use sim or netns." in said


def test_files_need_a_folder_at_each_host() -> None:
    text = ZONES.replace(
        "size: 1 MB,", "size: 1 MB, direction: get, protocol: ftp, from: disk, to: disk,"
    )
    assert refused(text) == [
        f"Files of the study need a folder at {host}: hosts.yaml needs hosts.{host}.files."
        for host in ("z1", "z2")
    ]
