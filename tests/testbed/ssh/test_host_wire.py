"""Messages with a host's process, held against the examples of the engine's tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from netstudy.testbed.ssh.host_wire import (
    HOST_COMMAND,
    HOST_RECORD,
    HostCommand,
    HostRecord,
)
from netstudy.wire import to_json

EXAMPLES = Path(__file__).parents[3] / "schema/examples"


@pytest.mark.parametrize(
    ("name", "adapter", "tag", "count"),
    [
        ("host-commands.jsonl", HOST_COMMAND, "command", 10),
        ("host-records.jsonl", HOST_RECORD, "kind", 13),
    ],
)
def test_each_example_is_read_and_written_byte_for_byte(
    name: str, adapter: TypeAdapter[HostCommand | HostRecord], tag: str, count: int
) -> None:
    lines = (EXAMPLES / name).read_text(encoding="utf-8").splitlines()
    assert [to_json(adapter.validate_json(line)) for line in lines] == lines
    assert len({json.loads(line)[tag] for line in lines}) == count


@pytest.mark.parametrize(
    "line",
    [
        '{"kind":"alive","n":1}',
        '{"kind":"clock","n":1,"monotonic_ns":5}',
        '{"kind":"welcome"}',
        "Welcome to alpha",
    ],
)
def test_a_message_with_a_field_too_many_or_too_few_is_refused(line: str) -> None:
    with pytest.raises(ValidationError):
        HOST_RECORD.validate_json(line)
