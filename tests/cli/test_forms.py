"""Variants and short forms as the command line takes them, and what `--set` changes in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netstudy.cli._prepare import Asked, prepare
from netstudy.errors import StudyError
from netstudy.study.workloads.incast import Incast

STUDY = """\
study: forms
question: Which form does it take?
factors: {servers: [2, 4, 8]}
topology:
  switch: generic-shallow
  client: host-10g
  server: {profile: host-10g, count: "${servers}"}
  link: {rate: 10 Gbit/s}
workload:
  incast: {block: 16 kB, iterations: 20}
seed: 3
quick: {set: {seed: 7, workload.incast.iterations: 2}}
testbeds:
  sim:
    scale: 1/10
    set: {seed: 9, workload.incast.iterations: 5}
    quick: {set: {replicates: 3}}
"""
PLAIN = STUDY.partition("testbeds:")[0]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY)
    return path


def iterations(path: Path, **asked: Any) -> int:
    spec = prepare(Asked(path, **asked)).study.workload.spec
    assert isinstance(spec, Incast)
    assert isinstance(spec.iterations, int)
    return spec.iterations


def seeds(path: Path, **asked: Any) -> tuple[int, int]:
    """The seed of the plan, and the one that results are kept with."""
    prepared = prepare(Asked(path, **asked))
    return prepared.planned.seed, prepared.invocation.seed


def test_the_seed_is_that_of_the_variant_and_of_the_overrides(study: Path) -> None:
    assert seeds(study) == (9, 9)
    assert seeds(study, overrides=["seed=5"]) == (5, 5)
    assert seeds(study, overrides=["seed=5"], seed=1) == (1, 1)


def test_the_seed_is_that_of_the_short_form(study: Path) -> None:
    study.write_text(PLAIN)
    assert seeds(study) == (3, 3)
    assert seeds(study, quick=True) == (7, 7)


def test_a_variant_is_changed_before_it_is_carried_out(study: Path) -> None:
    assert prepare(Asked(study)).invocation.scale == "1/10"
    halved = ["testbeds.sim.scale=1/2"]
    assert prepare(Asked(study, overrides=halved)).invocation.scale == "1/2"
    assert prepare(Asked(study, overrides=halved, scale="1")).invocation.scale == "1"
    quick = ["testbeds.sim.quick.set={replicates: 4}"]
    assert prepare(Asked(study, overrides=quick, quick=True)).study.replicates == 4


def test_a_variant_is_carried_out_without_what_is_left_out_of_it(study: Path) -> None:
    assert prepare(Asked(study, without=["testbeds.sim.scale"])).invocation.scale is None
    assert iterations(study) == 5
    assert iterations(study, without=["testbeds.sim.set"]) == 20
    for part in ("testbeds", "testbeds.sim"):
        assert prepare(Asked(study, without=[part])).invocation.variant is None
        assert iterations(study, without=[part]) == 20


def test_a_variant_that_is_left_out_cannot_be_asked_for(study: Path) -> None:
    with pytest.raises(StudyError, match="has no variant for sim; it has: none"):
        prepare(Asked(study, without=["testbeds.sim"], variant="sim"))


def test_a_short_form_is_changed_before_it_is_carried_out(study: Path) -> None:
    study.write_text(PLAIN)
    asked = ["quick.set={workload.incast.iterations: 1}"]
    assert iterations(study, overrides=asked, quick=True) == 1
    with pytest.raises(StudyError, match="no short form"):
        prepare(Asked(study, without=["quick"], quick=True))


def test_results_are_read_as_they_were_carried_out(study: Path) -> None:
    asked = Asked(study, overrides=["testbeds.sim.scale=1/2", "workload.incast.block=8 kB"])
    prepared = prepare(asked)
    again = prepared.invocation.applied_to(prepared.written)
    assert again.file == prepared.study.file
