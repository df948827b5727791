"""What a run's instruments counted of the same thing, held against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from netstudy import wire
from netstudy.testbed.real.evidence import KernelSwitch
from netstudy.testbed.real.reconcile import reconciliation
from netstudy.testbed.real.switch_wire import PathStatistics
from netstudy.wire import Reconciliation
from tests.testbed.carried_out import a_run, counts, roles
from tests.testbed.networks import star
from tests.testbed.told import evidence, queues

ITERATIONS, BLOCK_BYTES = 2, 32_000
FRAMES = 100
HEADER_BYTES = 14 + 20 + 32
"""Ethernet, IPv4, TCP with timestamps."""
CARRIED_BYTES = ITERATIONS * BLOCK_BYTES + FRAMES * HEADER_BYTES
WIRE = "bytes of the interfaces that receive data = payload and headers of its frames"
PORT = {"frames_dropped": 0, "frames_forwarded": FRAMES, "bytes_forwarded": 0}
RUN = a_run(
    star(1, mtu_bytes=1500),
    wire.Incast(roles=roles("client", "server"), block_bytes=BLOCK_BYTES),
    counts(ITERATIONS),
)


def of_wire(received_bytes: int, dsacks: int, sent_again: int = 0) -> Reconciliation:
    """The check of the wire's bytes."""
    told = evidence(
        RUN,
        {},
        {
            "client": {
                "interface_packets_received": FRAMES,
                "interface_bytes_received": received_bytes,
                "dsacks_received": dsacks,
            },
            "server": {"segments_retransmitted": sent_again},
        },
        delivered={"client": ITERATIONS * BLOCK_BYTES},
        switch=queues({"client": PORT, "server": PORT}),
    )
    (found,) = [one for one in reconciliation(told) if one.check == WIRE]
    return found


def test_the_wire_carries_payload_and_headers_to_the_byte() -> None:
    assert of_wire(CARRIED_BYTES, dsacks=0).holds
    assert not of_wire(CARRIED_BYTES + 12, dsacks=0).holds


def test_a_request_that_came_twice_is_reported_in_an_option_of_twelve_bytes() -> None:
    found = of_wire(CARRIED_BYTES + 59 * 12, dsacks=59)
    assert (found.difference, found.holds) == (0, True)
    assert not of_wire(CARRIED_BYTES + 60 * 12, dsacks=59).holds


def test_a_copy_that_arrived_brings_its_payload_once_more() -> None:
    full_bytes = 1500 - 52
    assert of_wire(CARRIED_BYTES + full_bytes, dsacks=0, sent_again=1).holds
    assert not of_wire(CARRIED_BYTES + full_bytes + 1, dsacks=0, sent_again=1).holds


LOSSES = (
    "segments that were sent again = frames that switches dropped and links lost on the way of data"
)


@dataclass(frozen=True)
class LossyLinks(KernelSwitch):
    """A switch and links that lose frames: on the way to the client, and ten times as many on the
    way from it."""

    frames_lost: int = field(kw_only=True)

    def paths(self, edge: str) -> Sequence[PathStatistics]:
        lost = self.frames_lost if edge == wire.MEASURE_END else 0
        ends = [("switch", "client", lost), ("client", "switch", 10 * lost)]
        return [
            PathStatistics(
                node=node, port=port, frames_lost=count, frames_duplicated=0, frames_reordered=0
            )
            for node, port, count in ends
        ]


def of_losses(
    direction: str, sent_again: int, dropped: int, lost: int = 0, in_flight: int = 0
) -> Reconciliation:
    """The check of the lost frames of a transfer, in which 1000 segments are sent; `in_flight` of
    them are in flight at the end of the phase."""
    work = wire.Transfer.model_validate(
        {"roles": roles("client", "server"), "direction": direction, "size_bytes": BLOCK_BYTES}
    )
    told = evidence(
        a_run(star(1, mtu_bytes=1500), work, counts(1)),
        {},
        {
            "client": {"segments_retransmitted": 0},
            "server": {"segments_retransmitted": sent_again, "segments_sent": 1000},
        },
        tcp={"server": {"unacked_segments": in_flight}},
        switch=LossyLinks(
            queues({"client": PORT | {"frames_dropped": dropped}, "server": PORT}).snapshots,
            frames_lost=lost,
        ),
    )
    (found,) = [one for one in reconciliation(told) if one.check == LOSSES]
    return found


def test_drops_of_data_are_repaired_by_as_many_segments() -> None:
    assert of_losses("get", sent_again=7, dropped=7).holds
    assert not of_losses("get", sent_again=7, dropped=8).holds
    assert not of_losses("get", sent_again=8, dropped=7).holds


def test_frames_that_links_lose_are_repaired_too() -> None:
    assert of_losses("get", sent_again=7, dropped=3, lost=4).holds
    assert not of_losses("get", sent_again=7, dropped=3, lost=3).holds


def test_a_loss_before_an_edge_may_be_repaired_after_it() -> None:
    # 10 of 1000 are lost: one of 100 in flight, and 6 at most (1 and 5 standard deviations of 1).
    assert of_losses("get", sent_again=4, dropped=0, lost=10, in_flight=100).holds
    assert not of_losses("get", sent_again=3, dropped=0, lost=10, in_flight=100).holds


def test_where_both_ends_send_dropped_acknowledgments_are_repaired_by_nobody() -> None:
    fewer = of_losses("both", sent_again=7, dropped=9)
    assert fewer.holds
    assert fewer.explained is not None
    assert "switches do not tell frames with data from acknowledgments" in fewer.explained
    assert not of_losses("both", sent_again=8, dropped=7).holds
