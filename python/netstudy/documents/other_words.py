"""Terms of other tools, and the keys of a study file that have the same effect."""

from __future__ import annotations

from typing import Final

_QUEUE = (
    "bytes that may wait at a switch port are port_buffer of the switch (pool, ingress_buffer of "
    "other architectures); frames that may wait at a host, transmit_queue of its nic"
)
_QDISC = (
    "the queue discipline of a port is queue, at a link, a switch or a host: queue: fq-codel, or a "
    "map with its parameters as tc names them"
)
_RTT = "the round-trip time is twice the sum of delay, one way, of the links on the path"
_RATE = "the rate of a link is its rate, such as 10 Gbit/s"
_WINDOW = (
    "send_buffer and receive_buffer of tcp bound the window of a connection; initial_window is its "
    "first one"
)
_DURATION = (
    "procedure.measure says how long is measured; without it, the workload counts: iterations, "
    "repeats or requests"
)
_PARALLEL = (
    "connections of each pair of hosts are flows of a transfer and connections of requests; more "
    "hosts are count of a host group"
)
_UDP = "there is no UDP in this version: all traffic is TCP"

_WORDS: Final = {
    "queue": _QUEUE,
    "queue_size": _QUEUE,
    "txqueuelen": _QUEUE,
    "qdisc": _QDISC,
    "aqm": _QDISC,
    "rtt": _RTT,
    "bandwidth": _RATE,
    "window": _WINDOW,
    "cwnd": _WINDOW,
    "duration": _DURATION,
    "parallel": _PARALLEL,
    "streams": _PARALLEL,
    "udp": _UDP,
}


def other_word(word: str) -> str:
    """The end of a message about an unknown word: `; ` and the key with the same effect, or a
    remark that netstudy has none. Empty for a word that is not in the list."""
    found = _WORDS.get(word.lower().replace("-", "_"))
    return f"; {found}" if found else ""
