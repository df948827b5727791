"""Queue disciplines and losses that a plan refuses, since parameters contradict each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.errors import StudyError
from netstudy.plan import make_plan
from netstudy.study import load

STUDY = """\
study: mistakes
question: Which?
topology:
  client: host-1g
  server: {profile: host-1gSERVER}
  switch: generic-deep
  link: {rate: 20 Mbit/s, LINK}
factors: {share: [0 %]}
workload: {transfer: {}}
procedure: {measure: 10 s}
"""


def plan(tmp_path: Path, link: str, server: str = "") -> None:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("LINK", link).replace("SERVER", server))
    make_plan(load(path))


def red(**parameters: str) -> str:
    """A RED that is right, but for these parameters."""
    right = {"limit": "100 kB", "min": "10 kB", "max": "50 kB", "burst": "20"}
    said = ", ".join(f"{key}: {value}" for key, value in (right | parameters).items())
    return f"queue: {{discipline: red, {said}}}"


def bucket(burst: str, more: str = "", kind: str = "shaper") -> str:
    return f"queue: {{discipline: {kind}, rate: 1 Mbit/s, burst: {burst}{more}}}"


@pytest.mark.parametrize(
    ("link", "said"),
    [
        (red(max="10 kB"), "queue: max, 10 kB, must be above min, 10 kB"),
        (red(limit="40 kB"), "queue: limit, 40 kB, must be at least max, 50 kB"),
        (red(burst="9"), "burst, 9, must be at least 10: min, 10 kB, divided by avpkt, 1 kB"),
        (red(min="1 kB"), "queue: min, 1 kB, must be above avpkt, 1 kB"),
        (red(probability="2"), "probability: must be less than or equal to 1, not 2"),
        (
            "queue: {discipline: pie, alpha: 2000}",
            "alpha: must be less than or equal to 1000, not 2000",
        ),
        (
            "queue: {discipline: priority, bands: [{dscp: [46, 48]}, {dscp: [48]}, {}]}",
            "bands: the code point 48 of band 2 is in band 1 already; list it once",
        ),
        (
            "queue: {discipline: drr, classes: [{dscp: [46, 46]}, {}]}",
            "classes: the code point 46 of class 1 is in class 1 already; list it once",
        ),
        (
            "queue: {discipline: drr, classes: [{}, {dscp: [46]}]}",
            "classes: class 1 has no dscp, so that it never gets a frame",
        ),
        (
            bucket("1 kB"),
            "burst, 1 kB, is below a full frame of 1,518 B, so that no full frame ever passes",
        ),
        (bucket("1518 B", ", overhead: 24 B", "policer"), "below a full frame of 1,542 B"),
        ("mtu: 9000, " + bucket("3 kB"), "below a full frame of 9,018 B"),
        (bucket("3 kB", f", over: {red(max='5 kB')[7:]}"), "over: max, 5 kB, must be above min"),
        ("queue: {discipline: fifo, limit_packets: 0}", "limit_packets is 0, so that no frame"),
        ("queue: {discipline: fifo, limit: 1500 B}", "limit, 1.5 kB, is below a full frame"),
        (
            "loss: {gilbert-elliott: {to_bad: 0 %, to_good: 0 %}}",
            "loss: to_bad and to_good are 0, so that the state never changes; give to_good",
        ),
        (
            'loss: {gilbert-elliott: {to_bad: "${share}", to_good: 0 %}}',
            "loss: to_bad and to_good are 0, so that the state never changes",
        ),
    ],
)
def test_a_contradiction_is_refused_by_the_names_of_the_study(
    tmp_path: Path, link: str, said: str
) -> None:
    with pytest.raises(StudyError) as caught:
        plan(tmp_path, link)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "link",
    [
        red(limit="50 kB", burst="10"),
        red(min="1 kB", burst="1"),
        "queue: {discipline: priority, bands: [{dscp: [46]}, {}]}",
        bucket("1518 B"),
        "queue: {discipline: fifo, limit: 1518 B, limit_packets: 1}",
        "loss: {gilbert-elliott: {to_bad: 0 %, to_good: 20 %}}",
    ],
)
def test_the_last_values_that_make_sense_are_planned(tmp_path: Path, link: str) -> None:
    plan(tmp_path, link)


def test_a_host_that_pauses_has_no_queue_discipline(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"queue: server uses PAUSE, so its interfaces cannot"):
        plan(tmp_path, "delay: 1 ms", server=", nic: {honours_pause: true}, queue: codel")
