"""Runs with applications: their load, their procedure, their books, and what can befall them."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.testbed.netns.namespaces import program as system_program
from tests.skips import needs_programs, with_database
from tests.testbed.carried_out import TIME_LIMIT_S, record_of
from tests.testbed.conftest import User
from tests.testbed.front import awaited, words
from tests.testbed.processes import descendants
from tests.testbed.served import (
    PAGE_BYTES,
    a_served_run,
    brokerage,
    pages,
    phases,
    program,
    started,
    tiers,
    transactions,
)

pytestmark = [pytest.mark.quiet, pytest.mark.engine]

USERS = wire.ClosedLoad(users=4)
with_nginx = needs_programs("nginx")


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


@with_database
def test_limits_of_tiers_are_imposed(user: User) -> None:
    if not user.is_root:
        pytest.skip("needs root, for control groups")
    limits: dict[str, dict[str, object]] = {
        "app": {"cpu_quota_pct": 20.0, "memory_bytes": 2**29},
        "db": {"disk": wire.Disk(disk_rate_bps=80_000_000, access_ns=10_000_000)},
    }
    work = transactions(brokerage(data="disk"), wire.ClosedLoad(users=8))
    record = record_of(user, a_served_run(work, tiers(groups=limits), 2.0))

    assert broken(record) == []
    (measure,) = [one for one in record.phases if one.kind == "measure"]
    length_ns = measure.end_ns - measure.start_ns
    # A period of the quota more, and the agent that reads the counters.
    assert grown(record, "app", "host_cpu_ns") < 0.3 * length_ns
    assert record.nodes["app"].cpus == 0.2
    said = record.environment[wire.DEPARTURES]
    assert "The CPUs of app are a share of this machine's: 20 % of one CPU" in said
    assert "disk of plain" not in said
    table = record.samples.transaction
    assert table is not None
    # Each purchase waits for its log to be written, and the disk takes 100 requests a second.
    writes = ("buy", "sell", "register", "update")
    done = zip(table.operation, table.completed, strict=True)
    written = sum(count for name, count in done if name in writes)
    assert 0 < written < 150 * length_ns / 1e9


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


DATABASE = re.compile(r"(\S*/)?postgres -D")
SERVER = re.compile(r"\S*netstudy-engine brokerage")
MASTER = re.compile("nginx: master process")


def inside(process: subprocess.Popen[str], line: re.Pattern[str]) -> int:
    """A process of the run by its command line, once users submit."""

    def look() -> int | None:
        there = descendants(process.pid)
        if not any(words(pid)[1:2] == ["agent"] for pid in there):
            return None
        found = [pid for pid in there if line.match(" ".join(words(pid)))]
        return found[0] if found else None

    return awaited(look, process)


@with_database
@pytest.mark.one_user
@pytest.mark.parametrize(
    ("line", "name"),
    [
        pytest.param(DATABASE, "db (database)", id="database"),
        pytest.param(SERVER, "app (application)", id="application"),
    ],
)
def test_a_killed_tier_fails_the_run_and_leaves_nothing(
    user: User, line: re.Pattern[str], name: str
) -> None:
    process = started(user, a_served_run(transactions(brokerage(), USERS), measure_s=30))
    there = inside(process, line)
    known = [os.pidfd_open(pid) for pid in descendants(process.pid)]
    os.kill(there, signal.SIGKILL)

    assert f"{name}: was killed by signal 9" in failure(process)
    assert left_of(known) == 0


def left_of(known: list[int]) -> int:
    """How many of these processes go on; all are closed."""
    on = 0
    for end in known:
        on += not select.select([end], [], [], 10)[0]
        os.close(end)
    return on


@with_database
@pytest.mark.one_user
@pytest.mark.slow
def test_a_supervisor_that_is_killed_takes_the_database_with_it(user: User) -> None:
    process = started(user, a_served_run(transactions(brokerage(), USERS), measure_s=30))
    inside(process, DATABASE)
    known = [os.pidfd_open(pid) for pid in descendants(process.pid)]
    process.kill()
    process.communicate()

    assert left_of(known) == 0


@with_nginx
@pytest.mark.slow
def test_a_link_that_is_cut_is_counted_as_errors_of_the_network(user: User, folder: Path) -> None:
    if not user.is_root:
        pytest.skip("only root reaches into the namespaces of a run")
    work = transactions(program(folder), USERS, clients=2)
    process = started(user, a_served_run(work, measure_s=20))
    server = inside(process, MASTER)
    cut = ["nsenter", f"--target={server}", "--net", "--", system_program("ip")]
    subprocess.run([*cut, "link", "set", "eth0", "down"], check=True)
    record = outcome(process)

    errors = record.samples.error
    assert errors is not None
    assert set(zip(errors.client, errors.reason, strict=True)) == {("client-1", "timed out")}


@with_database
@pytest.mark.one_user
@pytest.mark.slow
def test_a_disk_that_is_too_small_for_the_data_is_named(user: User) -> None:
    work = transactions(brokerage(users=15_000), USERS)
    process = started(user, a_served_run(work), "tests.testbed.small_disk", "60m")

    assert re.search("could not (extend|write to) file", failure(process))


@with_database
def test_a_disk_that_fills_up_is_named_or_counted_and_books_balance(user: User) -> None:
    work = transactions(brokerage(), wire.ClosedLoad(users=8))
    run = a_served_run(work, measure_s=6)
    record = outcome(started(user, run, "tests.testbed.small_disk", "80m", "fill"))

    if record.status == "failed":
        assert "No space left on device" in (record.error or "")
        return
    errors = record.samples.error
    assert errors is not None
    assert sum(errors.count) > 0, "the database cannot write, and nobody has noticed"
    books = next(one for one in record.checks if "books" in one.law)
    assert books.holds, books.detail


RATE_BPS, OFFERED_PER_S = 10_000_000, 300


@with_nginx
@pytest.mark.one_user
def test_a_link_that_is_too_slow_is_the_limit_and_a_faster_one_is_not(
    user: User, folder: Path
) -> None:
    load = wire.OpenLoad(interval_ps=10**12 // OFFERED_PER_S, arrivals="uniform", users=60)
    slow, fast = (
        record_of(
            user,
            a_served_run(
                transactions(program(folder), load), tiers(rate_bps=rate_bps, buffers=32), 2.0
            ),
        )
        for rate_bps in (RATE_BPS, 10 * RATE_BPS)
    )

    assert broken(slow) == broken(fast) == []
    # Pages of 9,000 bytes ask for more than twice of what the slow link carries.
    assert 0.6 < met(slow) * OFFERED_PER_S * 8 * PAGE_BYTES / RATE_BPS < 1
    assert met(fast) > 0.9
    drops = [dropped(one, "app", "client") for one in (slow, fast)]
    retransmitted = [grown(one, "app", "segments_retransmitted") for one in (slow, fast)]
    assert drops[0] > 5 * max(drops[1], 20)
    # TCP has to find out what the queue has lost; spurious ones come on top.
    # What is dropped as the phase ends is sent again after it.
    assert 0.98 * drops[0] <= retransmitted[0] < 1.2 * drops[0]
    assert retransmitted[1] < retransmitted[0] / 5
    assert grown(slow, "app", "host_cpu_ns") < grown(fast, "app", "host_cpu_ns")


def met(record: wire.RunRecord) -> float:
    """Share of what was offered that was completed."""
    table = record.samples.transaction
    assert table is not None
    return sum(table.completed) / sum(table.offered)
