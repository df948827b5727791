"""A queue that a host group or a switch gives all its ports."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy import queues
from netstudy.plan import make_plan
from netstudy.plan import queues as plan_queues
from netstudy.plan.mahimahi import rate_steps
from netstudy.study import load

STUDY = """\
study: groups
question: Which?
topology:
  client: {profile: host-1g}
  server: {profile: host-1g, count: 20, queue: {discipline: varying-rate, trace: lte.up}}
  switch: {profile: generic-deep, queue: codel}
  link: {}
factors: {flows: [1]}
workload: {transfer: {flows: "${flows}"}}
procedure: {measure: 10 s}
"""


@pytest.fixture
def traces_read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files of traces that are read."""
    read: list[Path] = []

    def reading(path: Path) -> tuple[tuple[int, int], ...]:
        read.append(path)
        return rate_steps(path)

    monkeypatch.setattr(plan_queues, "rate_steps", reading)
    return read


def test_the_trace_of_a_group_is_read_once_for_all_its_hosts(
    tmp_path: Path, traces_read: list[Path]
) -> None:
    (tmp_path / "lte.up").write_text("1\n")
    (tmp_path / "study.yaml").write_text(STUDY)
    network = make_plan(load(tmp_path / "study.yaml")).plan.runs[0].network
    varies = queues.VaryingRate(steps=((1_000_000, 12_000_000),), overhead_bytes=-18)
    found = {port.node: port.queue for link in network.links for port in link.ports}
    servers = {name: queue for name, queue in found.items() if name.startswith("server")}
    assert servers == {f"server-{n}": varies for n in range(1, 21)}
    assert (found["switch"], found["client"]) == (queues.CoDel(), None)
    assert traces_read == [tmp_path / "lte.up"]


def test_a_frame_passes_the_discipline_of_a_link_once_if_a_switch_is_inserted(
    tmp_path: Path,
) -> None:
    text = """\
study: inserted
question: Which?
topology:
  hosts: {app: host-1g, load: {profile: host-1g, count: 2}}
  links: [{between: [app, load], queue: codel}]
  placement: {down: {sender: app, receiver: load}}
factors: {flows: [1]}
workload: {transfer: {flows: "${flows}", placement: down}}
procedure: {measure: 10 s}
"""
    (tmp_path / "study.yaml").write_text(text)
    network = make_plan(load(tmp_path / "study.yaml")).plan.runs[0].network
    found = {(port.node, port.name): port.queue for link in network.links for port in link.ports}
    assert found == {
        ("app", "eth0"): queues.CoDel(),
        ("load-1", "eth0"): queues.CoDel(),
        ("load-2", "eth0"): queues.CoDel(),
        ("wire-app", "app"): None,
        ("wire-app", "load-1"): None,
        ("wire-app", "load-2"): None,
    }
