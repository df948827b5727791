"""Examples of the keys of a workload, of a procedure, and of instruments."""

from __future__ import annotations

from tests.study.keys.bases import (
    AT_LENGTH,
    INCAST,
    OPEN,
    POLLED,
    PROGRAM,
    REQUEST,
    TIMED,
    TRANSACTIONS,
    TRANSFER,
)
from tests.study.keys.effects import (
    Tree,
    changed,
    examples,
    in_plan,
    refused,
)

_PROBED = changed(INCAST, {"workload.probe": {"every": "10 ms"}})
_PROGRAM = "workload.transactions.application"
_OWN_MIX = changed(TRANSACTIONS, {"workload.transactions.mix": {"home": "50 %", "quotes": "50 %"}})
_DSN = "postgresql://trade@/trade?host=/run/postgresql"
_EXISTING = changed(
    OPEN,
    {
        "topology.hosts": {
            name: {"profile": "host-1g", "unused": True}
            for name in ("client", "app", "more", "other")
        },
        "workload.transactions.dsn": _DSN,
        "workload.transactions.password": {"env": "TRADE"},
    },
)
_SHARES = ("home", "quotes", "logout", "register", "account", "portfolio", "buy", "sell", "update")
_BY_FTP = changed(
    TRANSFER, {"workload.transfer": {"size": "1 MB", "protocol": "ftp", "from": "ram"}}
)
_MORE = {"topology.hosts.more": {"profile": "host-10g", "unused": True}}
_OTHER = changed(TRANSFER, _MORE)


def _watched(**instrument: str) -> Tree:
    return changed(TRANSFER, {"instruments": [instrument]})


_SAR, _TCP = _watched(sar="client"), _watched(tcp="client")
_PORTS = changed(AT_LENGTH, {"instruments": [{"ports": "s"}]})
_SIGNED = changed(
    POLLED, {"instruments.0.user": "reader", "instruments.0.password": {"env": "SIGNED"}}
)
_SEALED = changed(
    _SIGNED, {"instruments.0.privacy": "AES", "instruments.0.privacy password": {"env": "SEALED"}}
)

LOAD = {
    "Workload": {
        **examples(in_plan, INCAST, "workload", {"incast": {"block": "1 MB", "iterations": 9}}),
        **examples(in_plan, TRANSFER, "workload", {"transfer": {"size": "2 MB"}}),
        **examples(in_plan, REQUEST, "workload", {"request": {"requests": 9}}),
        **examples(in_plan, TRANSFER, "workload", {"probe": "1 ms"}),
        **examples(
            in_plan,
            TRANSACTIONS,
            "workload",
            {"transactions": OPEN["workload"]["transactions"] | {"open": {"rate": 7}}},
        ),
    },
    "Incast": {
        **examples(
            in_plan,
            changed(
                INCAST, _MORE | {"topology.client.unused": True, "topology.server.unused": True}
            ),
            "workload.incast",
            {
                "client": "more",
                "servers": "more",
                "block": "200 kB",
                "striped": True,
                "iterations": 91,
                "warmup": 11,
                "request": "65 B",
                "spacing": "1 us",
                "jitter": {"uniform": "1 us"},
            },
        ),
    },
    "Jitter": {
        **examples(
            in_plan,
            INCAST,
            "workload.incast.jitter",
            {"exponential": "75 us", "uniform": "75 us"},
        ),
    },
    "Transfer": {
        **examples(
            in_plan,
            _OTHER,
            "workload.transfer",
            {
                "clients": "other",
                "servers": "other",
                "direction": "put",
                "size": "2 MB",
                "flows": 2,
                "repeats": 2,
                "warmup": 2,
                "pause": "1 ms",
                "request": "65 B",
            },
        ),
        **examples(refused, AT_LENGTH, "workload.transfer", {"placement": "elsewhere"}),
        **examples(in_plan, TRANSFER, "workload.transfer", {"protocol": "ftp"}),
        **examples(
            in_plan,
            _BY_FTP,
            "workload.transfer",
            {"from": "disk", "to": "disk", "data path": "sendfile"},
        ),
    },
    "Request": {
        **examples(
            in_plan,
            changed(REQUEST, _MORE),
            "workload.request",
            {
                "clients": "more",
                "servers": "more",
                "request": "65 B",
                "response": "65 B",
                "writes": 2,
                "connections": 2,
                "outstanding": 2,
                "think": "1 ms",
                "every": "1 ms",
                "requests": 101,
                "warmup": 11,
            },
        ),
    },
    "Transactions": {
        **examples(
            in_plan,
            TRANSACTIONS,
            "workload.transactions",
            {
                "clients": "other",
                "server": "app-2",
                "database": "db-2",
                "engine": "sqlite",
                "variant": "a",
                "variants": {"images": {"images": 3}},
                "threads": 3,
                "pool": 3,
                "mix": {"home": "100 %"},
                "closed": {"users": 7},
                "population": {"users": 700},
                "statistics": "2 s",
                "model": "trade-z9",
                "costs": {"app_cpu": "7 ms"},
            },
        ),
        **examples(refused, TRANSACTIONS, "workload.transactions", {"application": "bank"}),
        **examples(in_plan, OPEN, "workload.transactions", {"open": {"rate": 7}}),
        **examples(
            in_plan,
            _EXISTING,
            "workload.transactions",
            {"dsn": f"{_DSN}&port=6000", "password": {"env": "OTHER"}},
        ),
    },
    "PasswordPlace": {
        **examples(in_plan, _EXISTING, "workload.transactions.password", {"env": "OTHER"}),
        **examples(refused, _EXISTING, "workload.transactions.password", {"pgpass": "pgpass"}),
    },
    "Application": {
        **examples(refused, PROGRAM, _PROGRAM, {"url": "https://app:8080/"}),
        **examples(
            in_plan,
            PROGRAM,
            _PROGRAM,
            {"start": ["other"], "ready": "http://app:8080/health"},
        ),
    },
    "OwnOperation": {
        **examples(in_plan, PROGRAM, "workload.transactions.mix.read", {"get": "/other"}),
        **examples(refused, PROGRAM, "workload.transactions.mix.read", {"share": "many"}),
        **examples(
            in_plan,
            PROGRAM,
            "workload.transactions.mix.write",
            {"post": "/other", "body": "b=1", "type": "text/html"},
        ),
    },
    "BrokerageVariant": examples(
        in_plan,
        TRANSACTIONS,
        "workload.transactions.variants.images",
        {"threads": 7, "pool": 7, "images": 7},
    ),
    "Costs": examples(
        in_plan,
        TRANSACTIONS,
        "workload.transactions.costs",
        {
            "request": "7 B",
            "response": "7 kB",
            "app_cpu": "7 ms",
            "app_cpu_growth": "0.7 %",
            "database_calls": 7,
            "database_request": "7 B",
            "database_response": "7 kB",
            "database_cpu": "7 ms",
            "database_disk_cpu": "7 ms",
            "database_shared_cpu": "7 ms",
            "database_hold": "7 ms",
            "database_contention": "7 ms",
            "database_buffer_wait": "7 ms",
            "database_slots": 7,
            "database_disk": "7 ms",
            "delay": "7 ms",
            "service": "fixed",
        },
    ),
    "ClosedLoop": examples(
        in_plan,
        TRANSACTIONS,
        "workload.transactions.closed",
        {"users": 7, "think": "1 s", "thinking": "exponential"},
    ),
    "OpenLoop": examples(
        in_plan,
        OPEN,
        "workload.transactions.open",
        {"rate": 7, "arrivals": "uniform", "users": 7},
    ),
    "Population": examples(
        in_plan,
        TRANSACTIONS,
        "workload.transactions.population",
        {"users": 700, "quotes": 700},
    ),
    "Mix": {
        **examples(refused, _OWN_MIX, "workload.transactions.mix", dict.fromkeys(_SHARES, "1 B")),
    },
    "Probe": examples(
        in_plan,
        _PROBED,
        "workload.probe",
        {"every": "20 ms", "request": "65 B", "response": "65 B"},
    ),
    "Procedure": {
        **examples(
            refused,
            INCAST,
            "procedure",
            dict.fromkeys(("load", "configure", "gather statistics", "reset"), True),
        ),
        **examples(
            in_plan, changed(TIMED, {"procedure.warmup": "1 s"}), "procedure", {"stop": True}
        ),
        **examples(
            in_plan,
            TIMED,
            "procedure",
            {"warmup": "2 s", "measure": "2 s", "cooldown": "1 s"},
        ),
        **examples(in_plan, _PROBED, "procedure", {"idle": "1 s"}),
        **examples(
            in_plan, changed(TIMED, {"procedure.warmup": "1 s"}), "procedure", {"start": "spread"}
        ),
    },
    "SarSampler": examples(
        in_plan, _SAR, "instruments.0", {"sar": "server", "every": "1 s", "sysstat": True}
    ),
    "TcpSampler": examples(in_plan, _TCP, "instruments.0", {"tcp": "server", "every": "1 s"}),
    "PortSampler": {
        **examples(in_plan, _PORTS, "instruments.0", {"port": "a", "every": "2 s"}),
        **examples(refused, _PORTS, "instruments.0", {"ports": "t"}),
    },
    # These counters are read in any case, so that naming a host that is there changes nothing.
    "CounterSnapshot": examples(
        refused, _watched(netstat="client"), "instruments.0", {"netstat": "nobody"}
    ),
    "SnmpPoll": {
        **examples(refused, POLLED, "instruments.0", {"snmp": "other", "from": "client"}),
        **examples(
            in_plan,
            POLLED,
            "instruments.0",
            {"port": "client", "every": "2 s", "community": {"env": "THE_COMMUNITY"}},
        ),
        **examples(
            in_plan,
            _SIGNED,
            "instruments.0",
            {"user": "other", "authentication": "SHA-256", "password": {"file": "/run/signed"}},
        ),
        **examples(in_plan, _SEALED, "instruments.0", {"privacy password": {"env": "OTHER"}}),
        **examples(refused, _SIGNED, "instruments.0", {"privacy": "AES"}),
    },
    "SecretPlace": {
        **examples(in_plan, _SIGNED, "instruments.0.password", {"env": "OTHER"}),
        **examples(refused, _SIGNED, "instruments.0.password", {"file": "signed"}),
    },
}
