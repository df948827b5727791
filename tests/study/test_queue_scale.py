"""A scale of link rates also scales the rates inside queue disciplines."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from netstudy import queues, wire
from netstudy.errors import StudyError
from netstudy.plan import make_plan
from netstudy.plan.paths import carries_bps
from netstudy.study import load

STUDY = """\
study: paths
question: Which?
topology:
  client: host-1g
  server: host-1g
  switch: generic-deep
  queues:
    shaped: {discipline: shaper, rate: 16 Mbit/s, burst: 3 kB, over: fq-codel}
  link: {rate: 20 Mbit/s, queue: QUEUE}
factors: {flows: [1, 2]}
workload: {transfer: {flows: "${flows}"}}
procedure: {measure: 10 s}
"""


def at_a_tenth(tmp_path: Path, queue: str, scale: Fraction = Fraction(1, 10)) -> wire.Link:
    """A link with this queue, in the plan of the scaled study."""
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("QUEUE", queue))
    return make_plan(load(path), scale=scale).plan.runs[0].network.links[0]


def test_a_shaper_stays_slower_than_its_line(tmp_path: Path) -> None:
    link = at_a_tenth(tmp_path, "shaped")
    # Rates are a tenth; the burst and the discipline under the shaper stay.
    over = queues.FqCoDel()
    assert link.a.queue == queues.Shaper(rate_bps=1_600_000, burst_bytes=3_000, over=over)
    assert link.a.rate_bps == 2_000_000
    assert carries_bps(link.a, link) == 1_600_000 * 1538 // 1518


def test_the_steps_of_a_varying_rate_and_what_is_under_it_are_scaled(tmp_path: Path) -> None:
    schedule = "[{lasts: 2 s, rate: 15 Mbit/s}, {lasts: 3 s}]"
    policer = "{discipline: policer, rate: 10 Mbit/s, burst: 9 kB}"
    link = at_a_tenth(
        tmp_path, f"{{discipline: varying-rate, schedule: {schedule}, over: {policer}}}"
    )
    under = queues.Policer(rate_bps=1_000_000, burst_bytes=9_000)
    steps = ((2_000_000_000, 1_500_000), (3_000_000_000, 0))
    assert link.a.queue == queues.VaryingRate(steps=steps, over=under)


def test_a_rate_below_a_bit_a_second_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"queue: 100 bit/s at 1/1000 is below 1 bit/s"):
        at_a_tenth(
            tmp_path, "{discipline: shaper, rate: 100 bit/s, burst: 3 kB}", Fraction(1, 1000)
        )
