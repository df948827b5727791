"""The example records, which the engine's types read too (crates/records/tests/it/examples.rs)."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from pydantic import TypeAdapter

from netstudy import wire

ROOT = Path(__file__).parents[2]
LINES = [
    line
    for name in ("records.jsonl", "measured-records.jsonl")  # the engine knows the first only
    for line in (ROOT / "schema/examples" / name).read_text(encoding="utf-8").splitlines()
]
RECORD: TypeAdapter[wire.Record] = TypeAdapter(wire.Record)


@pytest.mark.parametrize("line", LINES)
def test_each_example_holds_to_the_schema_and_to_the_models(line: str) -> None:
    schema = json.loads((ROOT / "schema/record.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(json.loads(line))
    record = RECORD.validate_json(line)
    assert RECORD.validate_json(wire.to_json(record)) == record
    written = json.loads(record.model_dump_json(by_alias=True, exclude_unset=True))
    assert written == json.loads(line)


def test_a_run_of_real_machines_says_what_it_was_made_on_and_how_far_it_can_be_trusted() -> None:
    real = RECORD.validate_json(LINES[1])
    assert isinstance(real, wire.RunRecord)
    assert real.samples.iteration is not None
    assert real.samples.iteration.dropped_packets is None
    assert real.bytes_received == 262_144
    assert [limit.name for limit in real.limits if limit.exceeded] == [
        "frames lost in the backlog queue"
    ]
    assert real.limits[2].value is None
    assert real.reconciliation[1].explained == "1 tail loss probe"
    assert real.clocks["CLOCK_MONOTONIC of another machine"].offset_high_ns == 1_000_000_038_000
    assert real.scaled_by == "1/20"


def test_a_run_of_the_simulator_needs_none_of_it() -> None:
    failed = RECORD.validate_json(LINES[2])
    assert isinstance(failed, wire.RunRecord)
    assert (failed.limits, failed.reconciliation, failed.environment) == ((), (), {})
    assert failed.scaled_by is None
    assert '"clocks"' not in wire.to_json(failed)


def test_counters_grow_between_the_edges_of_the_measuring_phase() -> None:
    real = RECORD.validate_json(LINES[1])
    assert isinstance(real, wire.RunRecord)
    ports = real.ports["switch"]
    assert real.growth(ports["client"]) == {
        "frames_dropped": 3,
        "frames_forwarded": 180,
        "queue_bytes_max": 63_000,  # a maximum so far does not grow
    }
    assert real.growth(ports["server-2"]) == {}, "what was not read at an edge is not there"


def test_samples_are_tables_by_kind() -> None:
    run = RECORD.validate_json(LINES[3])
    assert isinstance(run, wire.RunRecord)
    assert run.samples.iteration is None
    assert run.samples.transfer is not None
    assert run.samples.transfer.end_ns == (3_180_000_000,)
    idle, loaded = run.samples.request
    assert (idle.phase, loaded.phase) == ("idle", "measure")
    assert sum(loaded.requests) + loaded.unanswered == loaded.count
    assert run.measure is not None
    assert run.measure.end_ns - run.measure.start_ns == 2_000_000_000
