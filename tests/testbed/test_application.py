"""Databases of a run: who may ask them, what they say when they end, and what they leave."""

from __future__ import annotations

import pytest

from tests.skips import needs_programs, with_database
from tests.testbed.conftest import User

pytestmark = pytest.mark.quiet

CASES = "tests.testbed.inside_application"


def test_the_processor_time_of_a_host_is_that_of_all_programs_there(user: User) -> None:
    idle_ns, busy_ns = user.outcome("processors", cases=CASES)["counted_ns"]

    # A tick of 10 ms is lost of each time that is told in ticks: of two programs, four of them.
    assert 360_000_000 < busy_ns - idle_ns < 750_000_000
    assert idle_ns < 300_000_000, "what others spend in other namespaces is not counted"


@with_database
@needs_programs("ss")
def test_a_database_answers_its_application_alone_and_leaves_nothing(user: User) -> None:
    found = user.outcome("database", cases=CASES)

    assert found["asked"]["client"] == "42"
    assert "no pg_hba.conf entry" in found["asked"]["server-2"]
    assert not found["is_root"], "the server refuses to be root's, and so does its user"
    assert found["listening"] == ["10.77.0.2:5432"]
    assert found["left"] == []
    assert found["shared"] == 0
    assert found["said"] == ["server-1 (database)", "server-1 (initdb)"]


@with_database
@needs_programs("ss")
@pytest.mark.one_user
def test_a_killed_database_says_so_and_its_other_processes_end(user: User) -> None:
    found = user.outcome("killed", cases=CASES)

    assert found["why"].startswith("server-1 (database): was killed by signal 9")
    assert found["left"] == []
    assert found["shared"] == 0


@with_database
@needs_programs("ss")
@pytest.mark.one_user
def test_a_database_that_cannot_start_is_quoted(user: User) -> None:
    found = user.outcome("refused", cases=CASES)

    assert found["why"].startswith("server-1 (database): ended with exit code 1")
    assert 'could not bind IPv4 address "192.0.2.1"' in found["why"]
