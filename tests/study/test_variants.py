"""A study's variant for a testbed: other factors and values, fewer levels, slower links."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.plan import make_plan
from netstudy.store.invocation import InventoryCopy
from netstudy.study import in_variant, load, quick_form, variant_only
from netstudy.study.vocabulary import HOSTS, TESTBEDS
from netstudy.testbed import named
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
    formed = in_variant(load(study_file), "netns")
    planned = make_plan(formed, only=variant_only(formed, "netns"), scale=Fraction(1, 20))
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
    quick = quick_form(in_variant(load(study_file), "netns"))
    assert make_plan(quick).plan.runs[0].count("measure") == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("servers: [1, 3]", "servers: [1, 7]",
         "18:21: testbeds.netns.only.servers: factor servers has no level \"7\"; it has 1, 2, 3 "
         "(in the variant for netns)"),
        ("only: {servers:", "only: {server:",
         '18:12: testbeds.netns.only.server: no factor "server"; did you mean "servers"? '
         "(in the variant for netns)"),
        ("workload.incast.block:", "workload.incst.block:",
         '20:7: workload.incst: unknown key; did you mean "incast"? (in the variant for netns)'),
        ("256 kB", "256 kb",
         '20:7: workload.incast.block: "256 kb": unknown unit "kb"; did you mean "256 kB"? '
         "(in the variant for netns)"),
        ("min_rto: [200 ms", "min_rto: [200 Ms",
         '17:7: factors.min_rto: "200 Ms": unknown unit "Ms"; did you mean "200 ms"? '
         "(used by topology.server.tcp.min_rto) (in the variant for netns)"),
        ("incast.iterations: 2", "incast.iteration: 2",
         "23:7: quick.set.workload.incast.iteration: unknown key; did you mean "
         '"iterations"? (in the variant for netns)'),
        ("  netns:", "  netsn:",
         '13:3: testbeds.netsn: no testbed of this name; did you mean "netns"?'),
    ],
)  # fmt: skip
def test_a_form_that_cannot_be_made_is_refused_when_the_study_is_read(
    old: str, new: str, said: str, study_file: Path
) -> None:
    assert STUDY.count(old) == 1
    study_file.write_text(STUDY.replace(old, new))
    with pytest.raises(StudyError) as caught:
        load(study_file)
    assert str(caught.value) == f"{study_file}:{said}"


def test_a_study_may_have_a_form_for_each_testbed_that_there_is() -> None:
    inventory = InventoryCopy(path="hosts.yaml", text="hosts: {a: {ssh: a, address: 192.0.2.1}}")
    for name in TESTBEDS:
        assert named(name, inventory if name == HOSTS else None).name == name
    with pytest.raises(StudyError, match=f"there are {', '.join(TESTBEDS)}"):
        named("moon")


@pytest.mark.parametrize("text", ["0", "-1/2", "3/2", "1/0", "ten", True])
def test_what_is_no_scale_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="scale"):
        parse_scale(text)
