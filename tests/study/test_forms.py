"""The form that a study has for a testbed: other factors and values, fewer levels, slower links."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.plan import make_plan
from netstudy.study import form_only, in_form, load, quick_form
from netstudy.units import parse_scale

STUDY = """\
study: small
question: Does it work?
factors:
  servers: 1..3
topology:
  switch: generic-shallow
  client: {profile: host-10g}
  server: {profile: host-10g, count: "${servers}"}
  link: {rate: 10 Gbit/s, mtu: 9000}
workload:
  incast: {block: 4 MB, iterations: 100}
testbeds:
  netns:
    description: What one machine carries.
    scale: 1/20
    factors:
      min_rto: [200 ms, 4 ms]
    only: {servers: [1, 3]}
    set:
      workload.incast.block: 256 kB
      topology.server.tcp.min_rto: "${min_rto}"
    quick:
      set: {workload.incast.iterations: 2}
"""


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY)
    return path


def test_a_form_adds_factors_and_sets_values(study_file: Path) -> None:
    formed = in_form(load(study_file), "netns")
    planned = make_plan(formed, only=form_only(formed, "netns"), scale=Fraction(1, 20))
    assert [cell.treatment for cell in planned.cells] == [
        {"servers": servers, "min_rto": rto} for servers in (1, 3) for rto in ("200 ms", "4 ms")
    ]
    run = planned.plan.runs[0]
    assert isinstance(run.workload, wire.Incast)
    assert run.workload.block_bytes == 256_000
    ports = [port for link in run.network.links for port in link.ports]
    assert {port.rate_bps for port in ports} == {500_000_000}
    rtos = {run.network.group("server").tcp.min_rto_ns for run in planned.plan.runs}
    assert rtos == {200_000_000, 4_000_000}


def test_the_study_itself_stays_as_it_is(study_file: Path) -> None:
    planned = make_plan(load(study_file))
    assert len(planned.cells) == 3
    assert planned.plan.runs[0].network.links[0].a.rate_bps == 10_000_000_000


def test_the_short_form_is_that_of_the_form(study_file: Path) -> None:
    quick = quick_form(in_form(load(study_file), "netns"))
    assert make_plan(quick).plan.runs[0].count("measure") == 2


def test_a_form_that_keeps_an_unknown_level_is_refused_with_its_place(study_file: Path) -> None:
    study_file.write_text(STUDY.replace("servers: [1, 3]", "servers: [1, 7]"))
    formed = in_form(load(study_file), "netns")
    with pytest.raises(StudyError, match=r"study.yaml:\d+:\d+: testbeds.netns.only.servers"):
        form_only(formed, "netns")


@pytest.mark.parametrize("text", ["0", "-1/2", "3/2", "1/0", "ten", True])
def test_what_is_no_scale_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="scale"):
        parse_scale(text)
