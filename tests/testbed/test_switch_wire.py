"""The plan and the records of the switch, held against the examples of the engine's tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from netstudy.testbed.real.switch_wire import SwitchPlan, SwitchRecord
from netstudy.wire import to_json

EXAMPLES = Path(__file__).parents[2] / "schema/examples"
RECORD: TypeAdapter[SwitchRecord] = TypeAdapter(SwitchRecord)


def test_the_example_plan_is_read_and_written_without_loss() -> None:
    text = (EXAMPLES / "switch-plan.json").read_text(encoding="utf-8")
    assert json.loads(to_json(SwitchPlan.model_validate_json(text))) == json.loads(text)


def test_the_example_records_are_read_and_written_without_loss() -> None:
    lines = (EXAMPLES / "switch-records.jsonl").read_text(encoding="utf-8").splitlines()
    for line in lines:
        assert json.loads(to_json(RECORD.validate_json(line))) == json.loads(line)
    kinds = {json.loads(line)["kind"] for line in lines}
    assert kinds == {"ready", "snapshot", "drops", "samples", "links", "clock", "error", "end"}


def test_a_field_too_many_is_refused() -> None:
    plan = json.loads((EXAMPLES / "switch-plan.json").read_text(encoding="utf-8"))
    with pytest.raises(ValidationError, match="portz"):
        SwitchPlan.model_validate(plan | {"portz": []})
