"""Runs on a PostgreSQL server that was there before: its password, its other tables, refusals."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.errors import TestbedError
from netstudy.plan_lines import plan_bytes
from netstudy.testbed.netns.application_limits import database_engine
from netstudy.testbed.netns.unsupported import notes_on_run, unsupported
from netstudy.testbed.real.secrets import password_of
from tests.skips import with_database
from tests.testbed.carried_out import carry_out
from tests.testbed.conftest import User
from tests.testbed.existing import PORT, Server, server
from tests.testbed.networks import MODERN
from tests.testbed.served import a_served_run, brokerage, started, transactions
from tests.testbed.test_application_limits import LITTLE
from tests.testbed.test_served_runs import failure, outcome

PASSWORD = "hush:47\\11"
VARIABLE = "NETSTUDY_TEST_PASSWORD"
BY_VARIABLE = wire.PasswordSource(env=VARIABLE)


def run_on(there: wire.ExistingDatabase) -> wire.Run:
    """A short run of all phases on it."""
    work = transactions(brokerage(existing=there), wire.ClosedLoad(users=4))
    tiers = wire.TierRoles(client=work.roles.client, server=work.roles.server)
    return a_served_run(work.model_copy(update={"roles": tiers}))


def refused(run: wire.Run) -> list[str]:
    return unsupported(wire.Plan(study="by hand", seed=1, runs=(run,)), "user-space", MODERN)


@pytest.fixture
def variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, PASSWORD)


@pytest.fixture(scope="module")
def there() -> Iterator[Server]:
    with server(PASSWORD) as found:
        yield found


@with_database
@pytest.mark.usefixtures("variable")
def test_a_run_fills_resets_and_checks_it_and_tells_no_password(
    user: User, there: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    captures = tmp_path_factory.mktemp("captures")
    for folder in (captures, *captures.parents[:3]):
        folder.chmod(0o777)
    run = run_on(there.database(BY_VARIABLE))
    assert refused(run) == []
    plan = plan_bytes(wire.Plan("by hand", 1, (run,))).decode()
    done = carry_out(user, run, f"--captures={captures}")
    (line,) = [one for one in done.stdout.splitlines() if '"kind":"run"' in one]
    record = wire.RunRecord.model_validate_json(line)

    assert record.status == "ok", record.error or record.checks
    books = next(one for one in record.checks if "books" in one.law)
    assert books.holds, books.detail
    assert int(there.psql("SELECT COUNT(*) FROM account")) >= 200, "its tables stay"
    said = record.environment[wire.DEPARTURES]
    assert f"a PostgreSQL server that was there before ({there.folder}, role trade)" in said
    kept = [path.read_bytes() for path in captures.rglob("*") if path.is_file()]
    kept += [gzip.decompress(one) for one in kept if one[:2] == b"\x1f\x8b"]
    assert len(kept) > 1, "transcripts and environments are kept"
    for text in (plan, done.stdout, done.stderr, *(one.decode("latin-1") for one in kept)):
        assert "hush" not in text


@with_database
@pytest.mark.usefixtures("variable")
@pytest.mark.one_user
def test_tables_of_others_are_refused_by_name_and_stay(user: User) -> None:
    with server(PASSWORD) as there:
        there.psql("CREATE TABLE quote (text TEXT); INSERT INTO quote VALUES ('precious')")
        process = started(user, run_on(there.database(BY_VARIABLE)))

        assert "load failed: the database is not empty: public.quote is not" in failure(process)
        assert there.psql("SELECT text FROM quote") == "precious"


@with_database
@pytest.mark.usefixtures("variable")
@pytest.mark.one_user
def test_a_socket_below_run_which_the_sandbox_hides_is_reached(user: User) -> None:
    if not os.access("/run", os.W_OK):
        pytest.skip("needs root, for a folder in /run")
    with server(PASSWORD, "/run") as there:
        record = outcome(started(user, run_on(there.database(BY_VARIABLE))))
        assert record.status == "ok", record.error
        assert (there.folder / f".s.PGSQL.{PORT}").is_socket(), "the sandbox takes nothing along"


@with_database
@pytest.mark.one_user
def test_a_wrong_password_fails_the_run_and_is_not_told(
    user: User, there: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "hush-wrong")
    said = failure(started(user, run_on(there.database(BY_VARIABLE))))
    assert 'password authentication failed for user "trade"' in said
    assert "hush" not in said


def existing(host: str, password: wire.PasswordSource | None = None) -> wire.ExistingDatabase:
    return wire.ExistingDatabase(
        host=host, port=PORT, user="trade", database="trade", password=password
    )


def test_what_cannot_be_reached_is_refused_by_name(tmp_path: Path) -> None:
    assert refused(run_on(existing("db.example.org"))) == [
        "Hosts in namespaces do not reach db.example.org: name the folder of the server's Unix "
        "socket in dsn, ?host=/run/postgresql."
    ]
    asked = existing(str(tmp_path), wire.PasswordSource(env="NETSTUDY_NO_SUCH_VARIABLE"))
    assert refused(run_on(asked)) == [
        f"There is no server of PostgreSQL with a socket {PORT} in {tmp_path}.",
        "The environment variable NETSTUDY_NO_SUCH_VARIABLE with the password of trade is not set.",
    ]


def test_it_is_the_database_whatever_users_this_machine_has() -> None:
    run = run_on(existing("/run/postgresql"))
    assert database_engine(run, LITTLE) == "postgresql"
    assert not [line for line in notes_on_run(run, "user-space", LITTLE) if "SQLite" in line]


def pgpass(path: Path, text: str, mode: int = 0o600) -> wire.ExistingDatabase:
    path.write_text(text)
    path.chmod(mode)
    return existing("/run/pg", wire.PasswordSource(pgpass=str(path)))


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("/run/pg:5433:trade:trade:{}", id="all named"),
        pytest.param("*:*:*:*:{}\n*:*:*:*:another", id="the first one that fits"),
        pytest.param("localhost:5433:*:trade:{}", id="a socket is on this host"),
        pytest.param("#*:*:*:*:no\n/run/pg:5432:*:*:no\n*:*:other:*:no\n*:*:*:*:{}", id="others"),
    ],
)
def test_a_file_of_passwords_is_read_as_libpq_reads_it(tmp_path: Path, lines: str) -> None:
    escaped = PASSWORD.replace("\\", "\\\\").replace(":", "\\:")
    assert password_of(pgpass(tmp_path / "pgpass", lines.format(escaped))) == PASSWORD


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("*:*:*:*:hush\n", 0o640, "is open to others: chmod 600"),
        ("*:*:*:other:hush\n", 0o600, "no line of"),
        ("hush", 0o600, "no line of"),
    ],
)
def test_a_file_that_is_open_or_lacks_the_role_is_refused(
    tmp_path: Path, text: str, mode: int, said: str
) -> None:
    with pytest.raises(TestbedError) as error:
        password_of(pgpass(tmp_path / "pgpass", text, mode))
    assert said in str(error.value)
    assert "hush" not in str(error.value)
