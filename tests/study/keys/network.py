"""Examples of the keys of a topology: hosts, their TCP and interfaces, switches, links."""

from __future__ import annotations

from tests.study.keys.bases import AT_LENGTH, INCAST, INGRESS, POLLED, SHARED, TRANSACTIONS
from tests.study.keys.effects import (
    Example,
    Tree,
    changed,
    examples,
    in_plan,
    not_carried_out,
    refused,
)

_SERVER = "topology.server"
_IDLE = changed(INCAST, {f"{_SERVER}.profile": "host-10g"})
"""With a server whose interface costs no CPU time."""
_WORKING = changed(_IDLE, {f"{_SERVER}.cpu": {"send_per_packet": "1 us"}})
"""With a server whose work costs CPU time."""
_LINK = "topology.link"
_SWITCH = "topology.switch"
_WITH_NIC = changed(INCAST, {f"{_SERVER}.nic": {"rate": "10 Gbit/s"}, _LINK: {}})
_BUFFERED = changed(INCAST, {f"{_SERVER}.nic": {"buffers": 16}})
_BOTH_WAYS = changed(INCAST, {f"{_LINK}.rate": {"up": "1 Gbit/s", "down": "1 Gbit/s"}})
_NIC_PAUSES = changed(INCAST, {f"{_SERVER}.nic": {"pause_high": 100}})
_SWITCH_PAUSES = changed(INCAST, {_SWITCH: {"profile": "generic-deep", "pause_high": "70 kB"}})
_LINK_KEYS = {
    "rate": "2 Gbit/s",
    "delay": "5 us",
    "mtu": 9000,
    "nic": {"send_latency": "1 us"},
    "loss": "1 %",
    "duplicate": "1 %",
    "jitter": {"exponential": "1 ms"},
    "queue": "codel",
}
_JITTERS = changed(INCAST, {f"{_LINK}.jitter": {"uniform": "1 ms"}})
_DELAYED = changed(INCAST, {f"{_LINK}.delay": {"up": "1 us", "down": "1 us"}})
_LOSES = changed(INCAST, {f"{_LINK}.loss": {"up": "1 %", "down": "1 %"}})
_QUEUED_BOTH_WAYS = changed(INCAST, {f"{_LINK}.queue": {"up": "fq-codel", "down": "fq-codel"}})
_BURSTS = changed(
    INCAST, {f"{_LINK}.loss": {"gilbert-elliott": {"to_bad": "1 %", "to_good": "10 %"}}}
)


_RED: Tree = {
    "discipline": "red",
    "limit": "100 kB",
    "min": "10 kB",
    "max": "50 kB",
    "burst": 20,
}
_NAMED: Tree = {"topology.queues": {"inner": "codel"}}
"""A name for the queue inside another one."""
_BUCKET: Tree = {"rate": "50 Mbit/s", "burst": "5 kB"}


def _queued(**parameters: object) -> Tree:
    """A study whose links have a queue with these parameters."""
    return changed(INCAST, {f"{_LINK}.queue": parameters})


def _parameters(parameters: Tree, **queue: object) -> dict[str, Example]:
    """An example for each of the parameters of a queue."""
    return examples(in_plan, _queued(**queue), f"{_LINK}.queue", parameters)


_FORM = {
    "client": {"profile": "host-10g"},
    "server": {"profile": "host-10g", "count": "${servers}"},
    "switch": {"profile": "generic-deep"},
    "link": {"rate": "2 Gbit/s"},
    "shared_clock": True,
}

NETWORK = {
    "Topology": {
        **examples(in_plan, INCAST, "topology", _FORM),
        **examples(
            in_plan,
            AT_LENGTH,
            "topology",
            {
                "hosts": AT_LENGTH["topology"]["hosts"] | {"b": {"profile": "host-25g"}},
                "switches": {"s": {"profile": "generic-deep"}},
                "links": [
                    *AT_LENGTH["topology"]["links"][:2],
                    {"between": ["b", "s"], "delay": "1 us"},
                    {"between": ["c", "s"]},
                ],
                "placement": {"there": {"sender": "b", "receiver": "a"}},
            },
        ),
        **examples(
            in_plan,
            changed(_queued(discipline="shaper", **_BUCKET, over="inner"), _NAMED),
            "topology",
            {"queues": {"inner": "fq-codel"}},
        ),
    },
    "Host": {
        **examples(refused, AT_LENGTH, "topology.hosts.c", {"unused": False}),
        **examples(
            in_plan,
            INCAST,
            _SERVER,
            {
                "profile": "host-10g",
                "cpu_quota": "50 %",
                "interfaces": ["em1"],
                "queue": "codel",
                "dscp": 46,
                "local_path": {"latency": "1 us"},
                "bus": {"io_channels": 2},
                "disk": {"access_time": "1 ms"},
                "nic": {"send_latency": "1 us"},
                "tcp": "rfc",
            },
        ),
        **examples(
            in_plan,
            _IDLE,
            _SERVER,
            {
                "cpu": {"per_call": "1 us"},
                "bus": {"io_channel_rate": "7 Gbit/s"},
                "disk": {"rate": "7 Mbit/s"},
            },
        ),
        **examples(in_plan, _WORKING, _SERVER, {"cpus": 2}),
        **examples(in_plan, INCAST, _SERVER, {"memory": "1 GB"}),
        **examples(not_carried_out, INCAST, _SERVER, {"data": "disk"}),
        **examples(in_plan, TRANSACTIONS, "topology.hosts.db", {"data": "ram"}),
        **examples(in_plan, AT_LENGTH, "topology.hosts.b", {"zones": {"y": {}}}),
        **examples(in_plan, AT_LENGTH, "topology.hosts.a", {"stack": "own"}),
        **examples(in_plan, AT_LENGTH, "topology.hosts.c", {"count": 2}),
    },
    "Cpu": examples(
        in_plan,
        _IDLE,
        f"{_SERVER}.cpu",
        {
            "cpus": 2,
            "speed": "200 %",
            "service": "exponential",
            "send_per_packet": "7 us",
            "receive_per_packet": "7 us",
            "send_per_byte": "7 ns/B",
            "receive_per_byte": "7 ns/B",
            "sendfile_per_byte": "7 ns/B",
            "file_read_per_byte": "7 ns/B",
            "file_write_per_byte": "7 ns/B",
            "per_call": "7 us",
            "call_size": "7 kB",
        },
    ),
    "Bus": examples(
        in_plan,
        INCAST,
        f"{_SERVER}.bus",
        {
            "memory_channels": 2,
            "memory_channel_rate": "7 Gbit/s",
            "io_channels": 2,
            "io_channel_rate": "7 Gbit/s",
        },
    ),
    "Disk": examples(
        in_plan,
        INCAST,
        f"{_SERVER}.disk",
        {
            "rate": "7 Mbit/s",
            "access_time": "7 ms",
            "write_cache": "7 MB",
            "page_cache": "7 GB",
        },
    ),
    "Zone": examples(in_plan, AT_LENGTH, "topology.hosts.a.zones.z", {"interface": "two"}),
    "Placement": {
        **examples(in_plan, AT_LENGTH, "topology.placement.there", {"sender": "c"}),
        **examples(in_plan, AT_LENGTH, "topology.placement.there", {"receiver": "c"}),
    },
    "LinkProperties": {
        **examples(in_plan, INCAST, _LINK, _LINK_KEYS),
        **examples(in_plan, _JITTERS, _LINK, {"reorder": True}),
        **examples(in_plan, INCAST, _LINK, {"kind": "hipersocket", "buffers": 16}),
    },
    "Link": {
        **examples(refused, AT_LENGTH, "topology.links.1", {"unused": False}),
        **examples(
            in_plan, AT_LENGTH, "topology.links.2", _LINK_KEYS | {"between": ["b@two", "s"]}
        ),
        **examples(in_plan, AT_LENGTH, "topology.links.2", {"kind": "hipersocket", "buffers": 16}),
        **examples(
            in_plan,
            changed(AT_LENGTH, {"topology.links.2.jitter": {"uniform": "1 ms"}}),
            "topology.links.2",
            {"reorder": True},
        ),
    },
    "DelayEachWay": examples(in_plan, _DELAYED, f"{_LINK}.delay", {"up": "5 us", "down": "5 us"}),
    "LossEachWay": examples(in_plan, _LOSES, f"{_LINK}.loss", {"up": "5 %", "down": "5 %"}),
    "QueueEachWay": examples(
        in_plan, _QUEUED_BOTH_WAYS, f"{_LINK}.queue", {"up": "codel", "down": "pie"}
    ),
    "Bursts": examples(
        in_plan,
        _BURSTS,
        f"{_LINK}.loss",
        {"gilbert-elliott": {"to_bad": "2 %", "to_good": "10 %"}},
    ),
    "GilbertElliott": examples(
        in_plan,
        _BURSTS,
        f"{_LINK}.loss.gilbert-elliott",
        {"to_bad": "2 %", "to_good": "20 %", "in_bad": "50 %", "in_good": "1 %"},
    ),
    "Fifo": _parameters(
        {"discipline": "codel", "limit": "70 kB", "limit_packets": 70}, discipline="fifo"
    ),
    "Red": {
        **_parameters(
            {
                "limit": "200 kB",
                "min": "20 kB",
                "max": "100 kB",
                "probability": 0.1,
                "avpkt": "700 B",
                "burst": 30,
                "ecn": True,
            },
            **_RED,
        ),
        **examples(refused, _queued(**_RED), f"{_LINK}.queue", {"discipline": "sfq"}),
    },
    "CoDel": _parameters(
        {"discipline": "pie", "limit": 70, "target": "7 ms", "interval": "70 ms", "ecn": True},
        discipline="codel",
    ),
    "FqCoDel": _parameters(
        {
            "discipline": "codel",
            "limit": 70,
            "flows": 70,
            "target": "7 ms",
            "interval": "70 ms",
            "quantum": "300 B",
            "ecn": False,
        },
        discipline="fq-codel",
    ),
    "Pie": _parameters(
        {
            "discipline": "codel",
            "limit": 70,
            "target": "7 ms",
            "tupdate": "7 ms",
            "alpha": 0.2,
            "beta": 1.5,
            "ecn": True,
        },
        discipline="pie",
    ),
    "Priority": {
        **_parameters({"bands": [{}]}, discipline="priority", bands=[{"dscp": [46]}, {}]),
        **examples(
            refused,
            _queued(discipline="priority", bands=[{}]),
            f"{_LINK}.queue",
            {"discipline": "sfq"},
        ),
    },
    "Band": examples(
        in_plan,
        _queued(discipline="priority", bands=[{"dscp": [46]}, {}]),
        f"{_LINK}.queue.bands.0",
        {"dscp": [48], "limit": 7},
    ),
    "Drr": {
        **_parameters({"classes": [{}]}, discipline="drr", classes=[{"dscp": [46]}, {}]),
        **examples(
            refused,
            _queued(discipline="drr", classes=[{}]),
            f"{_LINK}.queue",
            {"discipline": "sfq"},
        ),
    },
    "DrrClass": examples(
        in_plan,
        _queued(discipline="drr", classes=[{"dscp": [46]}, {}]),
        f"{_LINK}.queue.classes.0",
        {"dscp": [48], "limit": 7, "quantum": "700 B"},
    ),
    "Shaper": {
        **_parameters(
            {"discipline": "policer", "rate": "70 Mbit/s", "burst": "7 kB", "overhead": "24 B"}
            | {"over": "codel"},
            **_BUCKET,
            discipline="shaper",
        ),
        **examples(
            in_plan,
            changed(INCAST, {f"{_SERVER}.queue": {"discipline": "shaper", **_BUCKET}}),
            f"{_SERVER}.queue",
            {"offload_as_one": True},
        ),
    },
    "Policer": _parameters(
        {"discipline": "shaper", "rate": "70 Mbit/s", "burst": "7 kB", "overhead": "24 B"}
        | {"over": "codel"},
        **_BUCKET,
        discipline="policer",
    ),
    "VaryingRate": {
        **examples(
            refused,
            _queued(discipline="varying-rate", schedule=[{"lasts": "1 s", "rate": "7 Mbit/s"}]),
            f"{_LINK}.queue",
            {"discipline": "sfq"},
        ),
        **examples(
            in_plan,
            _queued(discipline="varying-rate", trace="lte.down"),
            f"{_LINK}.queue",
            {"trace": "lte.up"},
        ),
        **examples(
            in_plan,
            _queued(discipline="varying-rate", schedule=[{"lasts": "1 s", "rate": "7 Mbit/s"}]),
            f"{_LINK}.queue",
            {"schedule": [{"lasts": "1 s", "rate": "8 Mbit/s"}], "over": "codel"},
        ),
    },
    "RateStep": examples(
        in_plan,
        _queued(
            discipline="varying-rate",
            schedule=[{"lasts": "1 s", "rate": "7 Mbit/s"}, {"lasts": "1 s"}],
        ),
        f"{_LINK}.queue.schedule.0",
        {"lasts": "2 s", "rate": "8 Mbit/s"},
    ),
    "EachWay": examples(
        in_plan, _BOTH_WAYS, f"{_LINK}.rate", {"up": "2 Gbit/s", "down": "100 Mbit/s"}
    ),
    "TcpKnobs": examples(
        in_plan,
        INCAST,
        f"{_SERVER}.tcp",
        {
            "profile": "rfc",
            "congestion_control": "cubic",
            "recovery": "rfc",
            "rack": False,
            "tail_loss_probe": False,
            "sack": False,
            "timestamps": False,
            "ecn": True,
            "initial_window": 7,
            "rto_rule": "rfc-6298",
            "initial_rto": "2 s",
            "min_rto": "1 ms",
            "max_rto": "60 s",
            "clock_tick": "7 ms",
            "delayed_ack": "7 ms",
            "ack_every": 7,
            "quick_ack": 7,
            "quick_ack_disorder": False,
            "ack_pushed": False,
            "nodelay": False,
            "restart_after_idle": False,
            "offload_burst": "7 kB",
            "offload_rule": "autosizing",
            "offload_request": "12 KiB",
            "limit_output": "7 kB",
            "send_buffer": "70 kB",
            "receive_buffer": "70 kB",
            "window_rule": "scaling-ratio",
        },
    ),
    "LocalPath": examples(
        in_plan,
        INCAST,
        f"{_SERVER}.local_path",
        {"latency": "7 us", "rate": "7 Gbit/s", "mtu": "1500 B"},
    ),
    "Nic": {
        **examples(
            in_plan,
            INCAST,
            f"{_SERVER}.nic",
            {
                "send_latency": "7 us",
                "receive_latency": "7 us",
                "receive_jitter": "7 us",
                "receive_per_frame": "7 us",
                "receive_rate": "7 Gbit/s",
                "transmit_queue": 7,
                "checksum_offload": False,
                "packet_rate": "7000 packets/s",
                "receive_ring": 700,
                "receive_refill": 3,
                "interrupt_delay": "7 us",
                "poll_weight": 7,
                "receive_merge": "7 kB",
                "honours_pause": True,
                "pause_high": 100,
            },
        ),
        **examples(in_plan, _NIC_PAUSES, f"{_SERVER}.nic", {"pause_low": 10, "pause_quanta": 10}),
        **examples(in_plan, _WITH_NIC, f"{_SERVER}.nic", {"rate": "100 Mbit/s"}),
        **examples(refused, INCAST, f"{_SERVER}.nic", {"profile": "no such nic"}),
        **examples(in_plan, INCAST, f"{_SERVER}.nic", {"buffers": 16}),
        **examples(in_plan, _BUFFERED, f"{_SERVER}.nic", {"buffer": "64 KiB"}),
    },
    "Switch": {
        # It tells whether the instrument snmp can read the switch.
        **examples(refused, POLLED, _SWITCH, {"snmp": False}),
        **examples(
            in_plan,
            INCAST,
            _SWITCH,
            {
                "profile": "generic-deep",
                "ports": 40,
                "forwarding": "cut-through",
                "latency": "7 us",
                "ecn_threshold": "70 kB",
                "honours_pause": True,
                "queue": "codel",
                "pause_high": "70 kB",
                "port_buffer": "70 kB",
            },
        ),
        **examples(in_plan, _SWITCH_PAUSES, _SWITCH, {"pause_low": "7 kB", "pause_quanta": 7}),
        **examples(
            in_plan,
            SHARED,
            _SWITCH,
            {
                "pool": "700 kB",
                "port_reserve": "7 kB",
                "cell": "70 B",
                "alpha": 0.7,
                "ingress_guarantee": 7,
            },
        ),
        **examples(
            in_plan,
            INGRESS,
            _SWITCH,
            {
                "ingress_buffer": "70 kB",
                "ingress_cell": "70 B",
                "ingress_reserve": 7,
                "egress_buffer": "70 kB",
                "random_arbitration": "70 %",
            },
        ),
    },
}
