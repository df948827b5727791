"""The messages of the brokerage, which the engine and the testbed share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from netstudy.testbed.real.brokerage_wire import (
    BROKERAGE_COMMAND,
    BROKERAGE_RECORD,
    BrokeragePlan,
)
from netstudy.wire import to_json

EXAMPLES = Path(__file__).parents[2] / "schema/examples"


def lines(name: str) -> list[str]:
    return (EXAMPLES / f"brokerage-{name}.jsonl").read_text().splitlines()


def test_the_example_plans_are_read_and_written_without_loss() -> None:
    for line in lines("plans"):
        plan = BrokeragePlan.model_validate_json(line)
        assert json.loads(to_json(plan)) == json.loads(line)


def test_the_example_commands_and_records_are_read_and_written_without_loss() -> None:
    for line in lines("commands"):
        assert json.loads(to_json(BROKERAGE_COMMAND.validate_json(line))) == json.loads(line)
    for line in lines("records"):
        assert json.loads(to_json(BROKERAGE_RECORD.validate_json(line))) == json.loads(line)


def test_a_plan_as_text_for_people_has_no_password() -> None:
    plans = [BrokeragePlan.model_validate_json(line) for line in lines("plans")]
    assert any("hush" in line for line in lines("plans"))
    assert not any("hush" in repr(plan) for plan in plans)


def test_a_setting_that_does_not_exist_is_refused() -> None:
    plan = json.loads(lines("plans")[0])
    plan["settings"]["page_imagess"] = 1
    with pytest.raises(ValidationError, match="page_imagess"):
        BrokeragePlan.model_validate(plan)
