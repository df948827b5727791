"""The contract with agents, held against the examples that the engine is tested with too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from pydantic import ValidationError

from netstudy.testbed.real import wire
from netstudy.wire import to_json

EXAMPLES = Path(__file__).parents[2] / "schema/examples"


def lines(name: str) -> list[str]:
    return (EXAMPLES / name).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("name", "workload"),
    [
        ("agent-client.json", wire.IncastClient),
        ("agent-server.json", wire.IncastServer),
    ],
)
def test_an_example_plan_survives_reading_and_writing(name: str, workload: type) -> None:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    plan = wire.AgentPlan.model_validate_json(text)
    assert isinstance(plan.workload, workload)
    assert json.loads(to_json(plan)) == json.loads(text)


def test_the_example_workloads_hold_one_of_each_kind() -> None:
    texts = lines("agent-workloads.jsonl")
    workloads = [wire.AGENT_WORKLOAD.validate_json(text) for text in texts]
    assert [to_json(workload) for workload in workloads] == texts
    kinds = get_args(get_args(wire.AgentWorkload)[0])
    assert {type(workload) for workload in workloads} == set(kinds)


def test_the_example_records_hold_one_of_each_kind() -> None:
    texts = lines("agent-records.jsonl")
    records = [wire.AGENT_RECORD.validate_json(text) for text in texts]
    assert [to_json(record) for record in records] == texts
    kinds = get_args(get_args(wire.AgentRecord)[0])
    assert {type(record) for record in records} == set(kinds)


def test_the_example_commands_are_commands() -> None:
    texts = lines("agent-commands.jsonl")
    commands = [wire.COMMAND.validate_json(text) for text in texts]
    assert [to_json(command) for command in commands] == texts
    assert commands == [
        wire.SnapshotCommand(name="measure-start"),
        wire.GoCommand(),
        wire.StopCommand(),
    ]


def test_a_token_is_not_shown() -> None:
    text = (EXAMPLES / "agent-server.json").read_text(encoding="utf-8")
    plan = wire.AgentPlan.model_validate_json(text)
    assert plan.token not in repr(plan)
    with pytest.raises(ValidationError):
        wire.AgentPlan.model_validate(plan.model_dump(by_alias=True) | {"token": "short"})
