"""Files by FTP on real namespaces: what a run records of them."""

from __future__ import annotations

import pytest

from netstudy import wire
from netstudy.testbed.engine import find_engine
from tests.skips import or_skip
from tests.testbed.carried_out import a_run, broken, counts, record_of, roles, times
from tests.testbed.conftest import User
from tests.testbed.networks import direct, star

pytestmark = [pytest.mark.one_user, pytest.mark.quiet]

MEGABIT = 1_000_000
SIZE = 1_000_000
READ = {
    "memory": None,
    "ram": "no file is read from a disk",
    "cache": "no file is read from a disk",
    "disk": "every file is read from the disk",
}
WRITTEN = {
    "null": "no file is written to a disk",
    "ram": "no file is written to a disk",
    "disk": "every file is written to the disk",
    "synced disk": "every file is written to the disk",
}


@pytest.fixture(autouse=True)
def engine() -> None:
    """The engine, where netstudy finds it."""
    with or_skip():
        find_engine()


@pytest.mark.parametrize(
    ("direction", "source", "sink", "data_path"),
    [
        ("get", "memory", "null", "copying"),
        ("get", "cache", "disk", "sendfile"),
        ("get", "disk", "synced disk", "copying"),
        ("put", "ram", "ram", "copying"),
        ("put", "cache", "synced disk", "sendfile"),
    ],
)
def test_a_file_goes_from_where_it_is_to_where_it_shall_be(
    user: User, direction: str, source: str, sink: str, data_path: str
) -> None:
    work = wire.Transfer.model_validate(
        {
            "roles": roles("client", "server"),
            "direction": direction,
            "size_bytes": SIZE,
            "ftp": {"source": source, "sink": sink, "data_path": data_path},
        }
    )
    graph = direct(rate_bps=(100 * MEGABIT, 100 * MEGABIT), delay_ns=0)
    record = record_of(user, a_run(graph, work, counts(2)))
    rows, table = record.samples.transfer, record.samples.connection

    assert not broken(record)
    assert rows is not None
    assert table is not None
    data = (SIZE,) * 2
    assert (rows.bytes_received if direction == "get" else rows.bytes_sent) == data
    assert rows.first_byte_ns is not None
    parts = zip(rows.start_ns, rows.first_byte_ns, rows.end_ns, strict=True)
    assert all(start < first < end for start, first, end in parts)
    # The wire takes 80 ms for 1 MB.
    assert all(
        e - s > 8e9 * SIZE / (100 * MEGABIT)
        for s, e in zip(rows.start_ns, rows.end_ns, strict=True)
    )
    assert table.connect_ns is not None
    assert table.login_ns is not None
    assert min(*table.connect_ns, *table.login_ns) > 0
    assert (table.bytes_received if direction == "get" else table.bytes_sent) == (2 * SIZE,)
    laws = {check.law for check in record.checks}
    assert {READ[source], WRITTEN[sink]} - {None} <= laws


def test_clients_fetch_a_file_over_and_over_for_a_time(user: User) -> None:
    ends = roles(["server-1", "server-2"], "client")
    work = wire.Transfer(roles=ends, size_bytes=SIZE // 50, flows=2, ftp=wire.Ftp())
    graph = star(2, rate_bps=100 * MEGABIT, mtu_bytes=1500)
    record = record_of(user, a_run(graph, work, times(measure_s=1)))
    rows, table, seconds = (
        record.samples.transfer,
        record.samples.connection,
        record.samples.second,
    )

    assert not broken(record)
    assert rows is not None
    assert table is not None
    assert seconds is not None
    assert set(rows.connection) <= {0, 1, 2, 3}
    assert set(rows.bytes_received) == {SIZE // 50}
    # Bytes of transfers that the end of the phase cut off count too.
    assert sum(table.bytes_received) >= sum(rows.bytes_received)
    assert sum(seconds.bytes_received) == sum(table.bytes_received)
