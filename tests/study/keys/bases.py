"""The studies that keys are shown in: each as small as what it is about allows."""

from __future__ import annotations

from tests.study.keys.effects import Tree, changed

INCAST: Tree = {
    "study": "incast",
    "question": "How long does it take?",
    "factors": {"servers": [2, 4]},
    "topology": {
        "client": {"profile": "ucs-c200-rhel54"},
        "server": {"profile": "ucs-c200-rhel54", "count": "${servers}"},
        "switch": {"profile": "generic-shallow"},
        "link": {"rate": "1 Gbit/s"},
    },
    "workload": {"incast": {"block": "100 kB", "iterations": 90, "warmup": 10}},
}
"""A star of one client and some servers."""

SHARED = changed(INCAST, {"topology.switch.profile": "generic-shared"})
"""The same around a switch of shared memory."""
INGRESS = changed(INCAST, {"topology.switch.profile": "generic-voq"})
"""The same around a switch that queues at its inputs."""

AT_LENGTH: Tree = {
    "study": "transfer",
    "question": "How fast is it?",
    "factors": {"size": ["1 MB", "2 MB"]},
    "topology": {
        "hosts": {
            "a": {"profile": "host-10g", "interfaces": ["one", "two"], "zones": {"z": {}}},
            "b": {"profile": "host-10g", "interfaces": ["one", "two"], "unused": True},
            "c": {"profile": "host-10g", "unused": True},
        },
        "switches": {"s": {"profile": "generic-shallow"}},
        "links": [
            {"between": ["a@one", "s"], "unused": True},
            {"between": ["a@two", "s"], "unused": True},
            {"between": ["b", "s"]},
            {"between": ["c", "s"]},
        ],
        "placement": {"there": {"sender": "a", "receiver": "b"}},
    },
    "workload": {"transfer": {"placement": "there", "size": "${size}"}},
}
"""Hosts with interfaces and zones of their own, and a named placement."""

TRANSFER: Tree = {
    "study": "transfer",
    "question": "How fast is it?",
    "factors": {"servers": [1, 2]},
    "topology": {
        "hosts": {
            "client": {"profile": "host-10g", "unused": True},
            "other": {"profile": "host-10g", "unused": True},
        },
        "server": {"profile": "host-10g", "count": "${servers}", "unused": True},
        "switch": {"profile": "generic-shallow"},
        "link": {"rate": "1 Gbit/s"},
    },
    "workload": {"transfer": {"size": "1 MB"}},
}
REQUEST = changed(TRANSFER, {"workload": {"request": {"requests": 100}}})
POLLED = changed(
    TRANSFER,
    {
        "topology.switch.snmp": True,
        "instruments": [{"snmp": "switch", "port": "server", "from": "other"}],
    },
)
"""Its switch is read by SNMP."""
TIMED = changed(TRANSFER, {"workload": {"transfer": {}}, "procedure": {"measure": "1 s"}})
"""For as long as its procedure says."""

TRANSACTIONS: Tree = {
    "study": "transactions",
    "question": "How many users?",
    "factors": {"delay": ["1 us", "2 us"]},
    "topology": {
        "hosts": {
            "client": {"profile": "host-1g", "count": 2, "unused": True},
            "other": {"profile": "host-1g", "count": 2, "unused": True},
            "app": {"profile": "host-1g", "unused": True},
            "app-2": {"profile": "host-1g", "unused": True},
            "db": {"profile": "host-1g", "unused": True},
            "db-2": {"profile": "host-1g", "unused": True},
        },
        "switch": {"profile": "generic-shallow"},
        "link": {"rate": "1 Gbit/s", "delay": "${delay}"},
    },
    "workload": {
        "transactions": {
            "application": "brokerage",
            "clients": "client",
            "closed": {"users": 5},
            "variant": "images",
            "variants": {"images": {"images": 2}},
        }
    },
    "procedure": {"warmup": "1 s", "measure": "1 s"},
}
"""The brokerage with a database, and hosts that stand by."""
PROGRAM = changed(
    TRANSACTIONS,
    {
        "workload.transactions": {
            "application": {
                "start": ["server", "--port", "8080"],
                "url": "http://app:8080/",
                "ready": "http://app:8080/ready",
            },
            "clients": "client",
            "model": "brokerage",
            "closed": {"users": 5},
            "mix": {
                "read": {"share": "50 %", "get": "/"},
                "write": {"share": "50 %", "post": "/form", "body": "a=1", "type": "text/plain"},
            },
        }
    },
)
"""Any program that answers HTTP."""
OPEN = changed(
    TRANSACTIONS,
    {
        "workload.transactions": {
            "application": "brokerage",
            "clients": "client",
            "open": {"rate": 5},
        },
    },
)

CASES: Tree = {
    **{key: part for key, part in INCAST.items() if key != "factors"},
    "cases": {
        "few": {"factors": {"servers": [2, 3], "mtu": [1500, 9000]}, "fixed": {"rate": "1 Gbit/s"}},
        "many": {"factors": {"servers": [4, 5], "rate": ["1 Gbit/s", "10 Gbit/s"]}},
    },
    "fixed": {"mtu": 1500},
}
CASES = changed(CASES, {"topology.link": {"rate": "${rate}", "mtu": "${mtu}"}})
"""Two test cases, each with a factor that the other one holds."""

GROWING = changed(INCAST, {"factors": {"servers": {"grow": "1..", "at most": 4}}, "noise": "2 %"})

ASKED = changed(
    INCAST,
    {
        "factors": {"switch": ["nexus-5010", "arista-7124s"], "servers": [2, 4]},
        "topology.switch.profile": "${switch}",
        "replicates": 3,
    },
)
"""What reports are asked of: two switches, two numbers of servers, three runs of each."""
TABLE = changed(
    ASKED,
    {
        "tables": [
            {"rows": ["switch", "servers"], "columns": ["completion_ms_mean", "goodput_mbps"]}
        ]
    },
)
