"""A link whose two directions have different queue disciplines."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy import queues
from netstudy.errors import StudyError
from netstudy.plan import make_plan
from netstudy.study import load

STUDY = """\
study: directions
question: Which?
topology:
  client: host-1g
  server: host-1g
  switches: {home: {profile: generic-deep, queue: pie}, isp: generic-deep}
  queues:
    limited: {discipline: policer, rate: 16 Mbit/s, burst: 30 kB}
  links:
    - {between: [client, home]}
    - {between: ENDS, rate: 20 Mbit/s, queue: QUEUE}
    - {between: [isp, server]}
factors: {flows: [1]}
workload: {transfer: {flows: "${flows}"}}
procedure: {measure: 10 s}
"""
POLICER = queues.Policer(rate_bps=16_000_000, burst_bytes=30_000)


def at_ends(tmp_path: Path, queue: str, ends: str = "[home, isp]") -> dict[str, object]:
    """Switch -> the discipline of its port at the link between the switches."""
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("QUEUE", queue).replace("ENDS", ends))
    link = make_plan(load(path)).plan.runs[0].network.links[1]
    return {port.node: port.queue for port in link.ports}


def test_each_direction_waits_at_the_end_from_which_it_comes(tmp_path: Path) -> None:
    found = at_ends(tmp_path, "{up: limited, down: {discipline: codel, ecn: true}}")
    assert found == {"home": POLICER, "isp": queues.CoDel(ecn=True)}
    turned = at_ends(tmp_path, "{up: limited, down: fq-codel}", ends="[isp, home]")
    assert turned == {"isp": POLICER, "home": queues.FqCoDel()}


def test_a_direction_without_a_discipline_has_that_of_its_node(tmp_path: Path) -> None:
    assert at_ends(tmp_path, "{down: limited}") == {"home": queues.Pie(), "isp": POLICER}
    assert at_ends(tmp_path, "{up: limited}") == {"home": POLICER, "isp": None}


def test_a_map_with_a_discipline_is_for_both_directions(tmp_path: Path) -> None:
    found = at_ends(tmp_path, "{discipline: fifo, limit: 90 kB}")
    both = queues.Fifo(limit_bytes=90_000)
    assert found == {"home": both, "isp": both}


@pytest.mark.parametrize(
    ("queue", "said"),
    [
        ("{up: fq_codel}", 'queue.up: "fq_codel" is no queue'),
        ("{down: {discipline: shaper, rate: 1 Mbit/s}}", "queue.down: shaper needs burst"),
        ("{up: codel, back: pie}", "queue.back: unknown key"),
    ],
)
def test_a_mistake_is_named_with_its_direction(tmp_path: Path, queue: str, said: str) -> None:
    with pytest.raises(StudyError) as caught:
        at_ends(tmp_path, queue)
    assert said in str(caught.value)


def test_in_the_short_form_up_is_at_the_hosts(tmp_path: Path) -> None:
    text = (
        STUDY.partition("  switches")[0] + "  switch: generic-deep\n  link: {queue: {up: codel}}\n"
    )
    path = tmp_path / "study.yaml"
    path.write_text(text + "factors" + STUDY.partition("factors")[2])
    links = make_plan(load(path)).plan.runs[0].network.links
    found = {(port.node, port.name): port.queue for link in links for port in link.ports}
    assert found == {
        ("client", "eth0"): queues.CoDel(),
        ("server", "eth0"): queues.CoDel(),
        ("switch", "client"): None,
        ("switch", "server"): None,
    }
