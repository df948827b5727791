"""The value of --on, and schedulers that anybody could use."""

from __future__ import annotations

import pytest

from netstudy.errors import StudyError
from netstudy.store.environment import cores
from netstudy.testbed.sweep.address import (
    Local,
    Scheduler,
    parse_on,
    plain_warning,
    refuse_plain,
)


def test_local_clusters() -> None:
    assert parse_on("dask:local") == Local(cores())
    assert parse_on("dask:local:3") == Local(3)


@pytest.mark.parametrize(
    ("text", "address", "is_encrypted", "is_loopback"),
    [
        ("dask:tls://10.0.0.5:8786", "tls://10.0.0.5:8786", True, False),
        ("dask:tcp://127.0.0.1:8786", "tcp://127.0.0.1:8786", False, True),
        ("dask:tcp://[::1]:8786", "tcp://[::1]:8786", False, True),
        ("dask:localhost:8786", "tcp://localhost:8786", False, True),
        ("dask:head.example:8786", "tcp://head.example:8786", False, False),
        ("dask:local://1.2.3.4:5", None, False, False),
    ],
)
def test_addresses(text: str, address: str | None, is_encrypted: bool, is_loopback: bool) -> None:
    if address is None:
        with pytest.raises(StudyError, match="'local' is not a known way to a scheduler"):
            parse_on(text)
    else:
        assert parse_on(text) == Scheduler(address, is_encrypted, is_loopback)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ray:local", "'ray:local' names no cluster; write dask:local"),
        ("dask", "'dask' names no cluster"),
        ("dask:local:0", "'0' is not a number of worker processes"),
        ("dask:local:two", "'two' is not a number of worker processes"),
        ("dask:tls://host", "'tls://host' is not the address of a scheduler"),
        ("dask:inproc://host:1", "'inproc' is not a known way to a scheduler"),
    ],
)
def test_other_values_are_refused(text: str, said: str) -> None:
    with pytest.raises(StudyError, match=r"^--on: ") as found:
        parse_on(text)
    assert said in str(found.value)


def test_a_plain_address_of_another_machine_is_refused_unless_its_network_is_trusted() -> None:
    where = parse_on("dask:tcp://10.0.0.5:8786")
    with pytest.raises(StudyError, match=r"can run programs as you .* or say --trust-network"):
        refuse_plain(where, trusts_network=False)
    refuse_plain(where, trusts_network=True)
    assert "whoever reaches its port" in (plain_warning(where) or "")


def test_a_plain_loopback_is_taken_with_a_warning() -> None:
    where = parse_on("dask:tcp://127.0.0.1:8786")
    refuse_plain(where, trusts_network=False)
    assert "every user of this machine can run programs as you" in (plain_warning(where) or "")


@pytest.mark.parametrize("text", ["dask:local", "dask:tls://10.0.0.5:8786"])
def test_encrypted_clusters_need_no_word(text: str) -> None:
    refuse_plain(parse_on(text), trusts_network=False)
    assert plain_warning(parse_on(text)) is None
