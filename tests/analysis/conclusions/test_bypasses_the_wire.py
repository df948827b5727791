"""Whether data touch the wire: from records with planted speeds and counters."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.conclusions.bypasses_the_wire import Crossing, Crossings, crossings
from netstudy.analysis.related import pool_study
from netstudy.plan import make_plan
from netstudy.report.conclusions.bypasses_the_wire import crossing_sentences, crossings_table
from netstudy.study import load
from netstudy.wire import (
    ConnectionSamples,
    Edge,
    PhaseTimes,
    Readings,
    RecordNode,
    Run,
    RunRecord,
    Samples,
    Transfer,
    TransferSamples,
)

STUDY = """\
study: places
question: Does it touch the wire?
factors:
  path: [inside, outside]
  stack: [shared, own]
topology:
  hosts:
    a:
      profile: host-1g
      stack: "${stack}"
      interfaces: [one, two]
      zones: {x: {interface: one}, y: {interface: two}}
    b: {profile: host-1g}
  placement:
    inside: {sender: a.x, receiver: a.y}
    outside: {sender: a.x, receiver: b}
  switch: generic-deep
  links:
    - {between: [a@one, switch], rate: 1 Gbit/s}
    - {between: [a@two, switch], rate: 1 Gbit/s}
    - {between: [b, switch], rate: 1 Gbit/s}
workload: {transfer: {placement: "${path}", direction: put, size: 100 MB}}
replicates: 3
conclude: [bypasses the wire]
"""
SIZE = 100_000_000
LINE_MBPS = 1_000 * 1448 / 1538
"""A gigabit in frames of 1538 bytes on the wire, each with 1448 of payload."""


def recorded(run: Run, mbps: float, carried: float | None) -> RunRecord:
    """A transfer at that speed, of which the interfaces carried a share; None: nobody counted."""
    work = run.workload
    assert isinstance(work, Transfer)
    (client,), (server,) = work.roles.client, work.roles.server
    end_ns = round(SIZE * 8 / mbps * 1e3)
    ways = ("interface_bytes_sent", "interface_bytes_received")
    counted: Readings = {way: (0, round(SIZE * (carried or 0))) for way in ways}
    ports = {"a": {"one": counted, "two": counted}, "b": {"eth0": counted}}
    return RunRecord(
        run=run.id,
        treatment=run.treatment,
        replicate=run.replicate,
        seed=run.seed,
        status="ok",
        nodes={name: RecordNode(kind="host", group=name, clock="machine") for name in ("a", "b")},
        phases=(PhaseTimes(kind="measure", start_ns=0, end_ns=end_ns),),
        edges=(Edge(name="measure-start", at_ns=0), Edge(name="measure-end", at_ns=end_ns)),
        ports={} if carried is None else ports,
        samples=Samples(
            connection=ConnectionSamples(
                client=(client,),
                server=(server,),
                bytes_received=(0,),
                bytes_sent=(SIZE,),
                busy_ns=(end_ns,),
                retransmissions=(0,),
                timeouts=(0,),
            ),
            transfer=TransferSamples(
                connection=(0,),
                start_ns=(0,),
                end_ns=(end_ns,),
                bytes_received=(0,),
                bytes_sent=(SIZE,),
            ),
        ),
    )


def found(folder: Path, *speeds: float, carried: float | None) -> list[Crossing]:
    """The placements of a study whose three repetitions had these speeds, everywhere alike."""
    (folder / "study.yaml").write_text(STUDY)
    study = load(folder)
    plan = make_plan(study).plan
    records = [recorded(run, speeds[run.replicate - 1], carried) for run in plan.runs]
    table = pool_study(study, plan, records)
    return list(crossings(study, table, table.rows).of)


def told(crossing: Crossing) -> str:
    return " ".join(
        str(one).replace("\u00a0", " ") for one in crossing_sentences(Crossings((crossing,)))
    )


def test_each_placement_and_stack_is_judged_alone(tmp_path: Path) -> None:
    every = found(tmp_path, 500, 500, 500, carried=1.05)
    assert [one.held for one in every] == [
        {"path": path, "stack": stack}
        for path in ("inside", "outside")
        for stack in ("shared", "own")
    ]
    assert {round(one.line_mbps, 6) for one in every} == {round(LINE_MBPS, 6)}


@pytest.mark.parametrize(
    ("speeds", "carried", "verdict", "says"),
    [
        ((1_500, 1_200, 1_300), 0.001, "bypasses", "bypasses the wire: payload is 1.27 times"),
        ((900, 930, 800), 1.06, "touches", "touches the wire: payload is at most 0.988 times"),
        ((1_500, 1_200, 1_300), None, "faster, not counted", "seems to bypass the wire"),
        ((900, 930, 800), None, "slower, not counted", "No sign that"),
        ((1_500, 1_200, 1_300), 1.06, "disagree", "and yet the interfaces carried at least 106 %"),
        ((900, 930, 800), 0.5, "disagree", "carried at most 50.0 % of the payload"),
        ((900, 1_500, 800), None, "disagree", "only some repetitions exceed"),
    ],
)
def test_payload_and_counters_decide_together(
    tmp_path: Path, speeds: tuple[float, ...], carried: float | None, verdict: str, says: str
) -> None:
    first = found(tmp_path, *speeds, carried=carried)[0]
    assert first.verdict == verdict
    assert says in told(first)
    assert ("Counters of the interfaces are missing" in told(first)) == (carried is None)


def test_a_line_is_judged_by_what_its_frames_can_carry_of_payload(tmp_path: Path) -> None:
    """950 Mbit/s fit through a gigabit of raw bits, but not beside its frames' headers."""
    assert found(tmp_path, 950, 950, 950, carried=0.0)[0].verdict == "bypasses"
    assert found(tmp_path, 940, 940, 940, carried=0.0)[0].verdict == "disagree"


def test_a_sentence_names_what_decides_and_no_more(tmp_path: Path) -> None:
    """A shared stack bypasses the wire wherever the receiver sits in the host; a stack of its own
    does not. Between hosts the stack changes nothing."""
    (tmp_path / "study.yaml").write_text(STUDY.replace("replicates: 3", "replicates: 2"))
    study = load(tmp_path)
    plan = make_plan(study).plan

    def at(run: Run) -> RunRecord:
        inside = run.treatment == {"path": "inside", "stack": "shared"}
        return recorded(run, 2_000 if inside else 900, 0.0 if inside else 1.05)

    table = pool_study(study, plan, [at(run) for run in plan.runs])
    every = crossings(study, table, table.rows)
    said = [str(one).replace("\u00a0", " ") for one in crossing_sentences(every)]
    assert said[0].startswith("inside (stack shared) bypasses the wire: payload is 2.12 times")
    assert said[1].startswith("inside (stack own) and outside touch the wire: ")
    rows = crossings_table(every.of, "crossings").rows
    assert [[str(cell) for cell in row][-1] for row in rows] == [
        "bypasses",
        "touches",
        "touches",
        "touches",
    ]


def test_what_was_not_measured_is_told_and_not_taken_for_every_setting(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    study = load(tmp_path)
    plan = make_plan(study).plan
    inside = [run for run in plan.runs if run.treatment["path"] == "inside"]
    table = pool_study(study, plan, [recorded(run, 2_000, 0.0) for run in inside])
    first, *_, last = map(str, crossing_sentences(crossings(study, table, table.rows)))
    assert first.startswith("inside bypasses the wire: payload is at least")
    assert last == (
        "Not measured, and so not known: path=outside, stack=shared; path=outside, stack=own."
    )
