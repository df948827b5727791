"""The messages of the brokerage, which engine and testbed share."""

from __future__ import annotations

import http.client
import json
import subprocess
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from pydantic import ValidationError

from netstudy.testbed.engine import find_engine
from netstudy.testbed.real.brokerage_wire import (
    BROKERAGE_COMMAND,
    BROKERAGE_RECORD,
    BrokeragePlan,
    BrokeragePopulation,
    BrokerageReady,
    BrokerageRecord,
    BrokerageSnapshot,
    CheckCommand,
    GatherStatisticsCommand,
    LoadCommand,
    ResetCommand,
    SqliteDatabase,
)
from netstudy.testbed.real.wire import Endpoint, SnapshotCommand, StopCommand
from netstudy.wire import Wire, to_json
from tests.skips import or_skip

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


def test_the_engine_speaks_these_messages(tmp_path: Path) -> None:
    with or_skip():
        engine = find_engine()
    if subprocess.run([engine, "brokerage", "--help"], capture_output=True).returncode != 0:
        pytest.skip("the engine that is set up is older than these sources; make build")
    plan = BrokeragePlan(
        run="5c0ffee00001",
        node="application",
        listen=Endpoint(address=IPv4Address("127.0.0.1"), port=0),
        database=SqliteDatabase(file=str(tmp_path / "db")),
        population=BrokeragePopulation(users=20, quotes=10, seed="7"),
        time_limit_ms=60_000,
    )
    with subprocess.Popen(
        [engine, "brokerage"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        said = [said_to(process, plan), said_to(process, LoadCommand())]
        ready = said[0]
        assert isinstance(ready, BrokerageReady)
        connection = http.client.HTTPConnection("127.0.0.1", ready.listening.port)
        connection.request("POST", "/login", "uid=uid:1&passwd=xxx")
        assert connection.getresponse().status == http.HTTPStatus.OK
        commands = (
            GatherStatisticsCommand(),
            CheckCommand(),
            SnapshotCommand(name="now"),
            ResetCommand(),
            StopCommand(),
        )
        said += [said_to(process, command) for command in commands]
    assert process.returncode == 0
    kinds = ["ready", "done", "done", "books", "snapshot", "done", "end"]
    assert [record.kind for record in said] == kinds
    snapshot = said[4]
    assert isinstance(snapshot, BrokerageSnapshot)
    assert snapshot.counters.operations["login"] == snapshot.counters.page_elements == 1


def said_to(process: subprocess.Popen[str], message: Wire) -> BrokerageRecord:
    """The record that answers a message."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(to_json(message) + "\n")
    process.stdin.flush()
    return BROKERAGE_RECORD.validate_json(process.stdout.readline())
