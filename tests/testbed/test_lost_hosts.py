"""The error of a run in which a host was lost, whoever reports it first."""

from __future__ import annotations

from netstudy.testbed.real.conduct import caused_by
from netstudy.testbed.real.place import Lost
from netstudy.testbed.real.processes import LostHostError, NodeError

RESET = NodeError("client", "server 192.0.2.2:5001: Connection reset by peer")
SILENT = Lost("server-1", "has not been heard of since 11:44:45")


def test_a_failure_without_a_lost_host_stays_as_it_is() -> None:
    assert caused_by([], RESET) is RESET


def test_a_lost_host_is_the_cause_of_the_failure_that_another_host_saw_first() -> None:
    found = caused_by([SILENT], RESET)
    assert isinstance(found, LostHostError)
    assert str(found) == (
        "server-1: has not been heard of since 11:44:45; seen first as: "
        "client: server 192.0.2.2:5001: Connection reset by peer"
    )


def test_every_lost_host_is_named_once() -> None:
    own = NodeError("server-1", SILENT.why)
    found = caused_by([SILENT, Lost("server-2", "has ended its session")], own)
    assert str(found) == (
        "server-1: has not been heard of since 11:44:45; server-2: has ended its session"
    )
