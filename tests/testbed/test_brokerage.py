"""The messages of the brokerage, which engine and testbed share."""

from __future__ import annotations

import http.client
import json
import resource
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from pydantic import ValidationError

from netstudy.testbed.engine import find_engine
from netstudy.testbed.real.brokerage_wire import (
    BROKERAGE_COMMAND,
    BROKERAGE_RECORD,
    BrokerageCounters,
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
from netstudy.testbed.real.wire import Endpoint, ErrorRecord, SnapshotCommand, StopCommand
from netstudy.wire import to_json
from netstudy.wire_model import Wire
from tests.skips import or_skip

EXAMPLES = Path(__file__).parents[2] / "schema/examples"
ADDRESS = IPv4Address("127.0.0.1")
IDLE = 10_000
"""Connections without a request."""


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


@pytest.fixture
def engine() -> Path:
    """An engine that has the brokerage."""
    with or_skip():
        found = find_engine()
    if subprocess.run([found, "brokerage", "--help"], capture_output=True).returncode != 0:
        pytest.skip("the engine that is set up is older than these sources; make build")
    return Path(found)


@pytest.fixture
def running(engine: Path, tmp_path: Path) -> Iterator[Running]:
    """A brokerage on SQLite with its tables loaded."""
    plan = BrokeragePlan(
        run="5c0ffee00001",
        node="application",
        listen=Endpoint(address=ADDRESS, port=0),
        database=SqliteDatabase(file=str(tmp_path / "db")),
        population=BrokeragePopulation(users=20, quotes=10, seed="7"),
        time_limit_ms=120_000,
    )
    with subprocess.Popen(
        [engine, "brokerage"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        brokerage = Running(process)
        ready = brokerage.told(plan)
        assert isinstance(ready, BrokerageReady)
        brokerage.port = ready.listening.port
        assert brokerage.told(LoadCommand()).kind == "done"
        yield brokerage
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0


@dataclass
class Running:
    """A brokerage that runs."""

    process: subprocess.Popen[str]
    port: int = 0

    def told(self, message: Wire) -> BrokerageRecord:
        """The record that answers a message."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(to_json(message) + "\n")
        self.process.stdin.flush()
        return BROKERAGE_RECORD.validate_json(self.process.stdout.readline())

    def counters(self) -> BrokerageCounters:
        """All of them, now."""
        snapshot = self.told(SnapshotCommand(name="now"))
        assert isinstance(snapshot, BrokerageSnapshot)
        return snapshot.counters

    def log_in(self) -> int:
        """The status of the answer to a user who logs in."""
        connection = http.client.HTTPConnection(str(ADDRESS), self.port)
        with closing(connection):
            connection.request("POST", "/login", "uid=uid:1&passwd=xxx")
            return connection.getresponse().status


def test_the_engine_speaks_these_messages(running: Running) -> None:
    assert running.log_in() == http.HTTPStatus.OK
    commands = (GatherStatisticsCommand(), CheckCommand(), ResetCommand())
    assert [running.told(command).kind for command in commands] == ["done", "books", "done"]
    counters = running.counters()
    assert counters.operations["login"] == counters.page_elements == 1
    assert running.told(StopCommand()).kind == "end"


def test_ten_thousand_idle_connections_keep_nobody_out(running: Running) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < IDLE + 500:
        pytest.skip(f"needs {IDLE + 500} open files, may have {hard}: ulimit -n")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with ExitStack() as stack:
            for _ in range(IDLE):
                stack.enter_context(socket.create_connection((str(ADDRESS), running.port)))
            assert running.log_in() == http.HTTPStatus.OK
            assert running.counters().connections_open >= IDLE
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_plan_that_the_engine_does_not_know_is_refused_with_the_field(engine: Path) -> None:
    plan = lines("plans")[0].replace('"page_images"', '"page_imagess"')
    done = subprocess.run([engine, "brokerage"], input=plan, capture_output=True, text=True)
    assert done.returncode == 2
    record = BROKERAGE_RECORD.validate_json(done.stdout)
    assert isinstance(record, ErrorRecord)
    assert "settings.page_imagess" in record.message
