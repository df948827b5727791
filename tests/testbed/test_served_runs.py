"""Runs with applications: their load, their procedure, their books, and what can befall them."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.testbed.netns.database import server_programs
from tests.testbed.carried_out import TIME_LIMIT_S, record_of
from tests.testbed.conftest import User
from tests.testbed.served import (
    PAGE_BYTES,
    a_served_run,
    brokerage,
    pages,
    phases,
    program,
    started,
    transactions,
)

USERS = wire.ClosedLoad(users=4)
with_database = pytest.mark.skipif(
    server_programs() is None, reason="needs a server of PostgreSQL (apt-get install postgresql)"
)
with_nginx = pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx")


@pytest.fixture
def folder(user: User) -> Iterator[Path]:
    """A folder that the user may read."""
    path = Path(tempfile.mkdtemp(prefix="netstudy-test-"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def broken(record: wire.RunRecord) -> list[wire.Check]:
    return [one for one in record.checks if not one.holds]


def grown(record: wire.RunRecord, host: str, name: str) -> int:
    """Growth of a host's counter in the measuring phase."""
    names = [edge.name for edge in record.edges]
    values = record.counters[host][name]
    first, last = (values[names.index(edge)] for edge in (wire.MEASURE_START, wire.MEASURE_END))
    assert first is not None
    assert last is not None
    return last - first


def dropped(record: wire.RunRecord, host: str, port: str) -> int:
    """Frames that the queue of an interface dropped in the measuring phase."""
    names = [edge.name for edge in record.edges]
    values = record.ports[host][port]["nic_queue_drops"]
    first, last = (values[names.index(edge)] for edge in (wire.MEASURE_START, wire.MEASURE_END))
    return (last or 0) - (first or 0)


@with_nginx
@pytest.mark.one_user
def test_a_program_answers_two_generators_that_share_the_users(user: User, folder: Path) -> None:
    work = transactions(program(folder), wire.ClosedLoad(users=5), clients=2)
    record = record_of(user, a_served_run(work))

    assert broken(record) == []
    table, blocks = record.samples.transaction, record.samples.statistics
    assert table is not None
    assert blocks is not None
    assert table.client == ("client-1", "client-2")
    assert dict(zip(blocks.client, blocks.users, strict=True)) == {"client-1": 3, "client-2": 2}
    assert sum(table.completed) == sum(table.page_elements) > 100
    assert sum(table.network_errors) + sum(table.server_errors) == 0
    assert sum(table.bytes_read) > PAGE_BYTES * sum(table.page_elements)
    # Two workers of nginx spend what its master does not.
    assert grown(record, "app", "host_cpu_ns") > 20_000 * sum(table.page_elements)
    kinds = {(one.operation, one.latency) for one in record.samples.request}
    assert {("page element", "response"), ("transaction", "response"), ("page", "service")} <= kinds


@with_nginx
@pytest.mark.one_user
def test_submissions_come_at_their_rate_and_errors_have_their_reason(
    user: User, folder: Path
) -> None:
    load = wire.OpenLoad(interval_ps=5_000_000_000, arrivals="uniform", users=20)
    mix = pages("/absent")
    record = record_of(user, a_served_run(transactions(program(folder), load, mix=mix)))

    table, errors = record.samples.transaction, record.samples.error
    assert broken(record) == []
    assert table is not None
    assert errors is not None
    assert 198 <= sum(table.offered) <= 202
    assert table.completed == (0,)
    assert set(errors.reason) == {"404"}
    assert errors.count == table.server_errors


@with_nginx
@pytest.mark.one_user
def test_a_program_that_does_not_start_is_quoted(user: User, folder: Path) -> None:
    asked = program(folder, ("sh", "-c", "echo no such thing >&2; exit 3"))
    run = a_served_run(transactions(asked, USERS))

    assert error_of(user, run).startswith(
        "app (application): ended with exit code 3; no such thing"
    )


@pytest.mark.parametrize(
    "engine", [pytest.param("postgresql", marks=with_database), pytest.param("sqlite")]
)
def test_books_balance_after_a_run_with_all_its_phases(user: User, engine: str) -> None:
    work = transactions(brokerage(database=engine), wire.ClosedLoad(users=6), clients=2)
    record = record_of(user, a_served_run(work))

    assert broken(record) == []
    assert "the books of the application balance" in {one.law for one in record.checks}
    assert [one.kind for one in record.phases] == [one.kind for one in phases(work.application)]
    times = [time for one in record.phases for time in (one.start_ns, one.end_ns)]
    assert times == sorted(times), "one phase after the other"
    table = record.samples.transaction
    assert table is not None
    assert sum(table.completed) > 50
    assert sum(table.network_errors) + sum(table.server_errors) == 0
    assert grown(record, "app", "host_cpu_ns") > 0
    database = grown(record, "db", "host_cpu_ns")
    spent = 100_000 * sum(table.completed)
    assert database > spent if engine == "postgresql" else database < spent


def error_of(user: User, run: wire.Run) -> str:
    """Why a run failed."""
    process = started(user, run)
    return failure(process)


def failure(process: subprocess.Popen[str]) -> str:
    record = outcome(process)
    assert record.status == "failed"
    assert record.error is not None
    return record.error


def outcome(process: subprocess.Popen[str]) -> wire.RunRecord:
    written, told = process.communicate(timeout=TIME_LIMIT_S)
    assert process.returncode == 0, told
    (found,) = [one for one in map(json.loads, written.splitlines()) if one["kind"] == "run"]
    return wire.RunRecord.model_validate(found)
