"""Studies whose limit is planted, one for each kind, with the right verdict at their levels."""

from __future__ import annotations

from dataclasses import dataclass

PHASES = "procedure: {warmup: 500 ms, measure: 1 s}\nreplicates: 3\nnoise: 3 %\n"


def tiers(database_cpus: int) -> str:
    """The hosts of a brokerage, and the beginning of its workload."""
    return f"""\
    load: {{profile: load-client}}
    app: {{profile: host-1g, cpus: 4}}
    db: {{profile: host-1g, cpus: {database_cpus}}}
  links:
    - {{between: [load, app], rate: 1 Gbit/s}}
    - {{between: [app, db], rate: 1 Gbit/s}}
workload:
  transactions:
    application: brokerage
    mix: standard
"""


@dataclass(frozen=True)
class Limit:
    """A study, and what limits throughput in it."""

    name: str
    text: str
    at: dict[object, tuple[str, str]]
    """Level of the first factor -> kind and node of the limit. Levels that are left out lie between
    two limits."""
    why: str
    """How the limit follows from the study."""


LIMITS = (
    Limit(
        "upload",
        """\
factors: {flows: [1, 4, 8]}
topology:
  hosts:
    server: {profile: host-1g}
    client: {profile: host-1g}
  switch: generic-deep
  links:
    - {between: [server, switch], rate: 1 Gbit/s}
    - {between: [client, switch], rate: {up: 50 Mbit/s, down: 500 Mbit/s}, delay: 2 ms}
workload: {transfer: {direction: put, flows: "${flows}"}}
"""
        + PHASES,
        {1: ("link", "client"), 4: ("link", "client"), 8: ("link", "client")},
        "50 Mbit/s from the client; the other direction has ten times as much",
    ),
    Limit(
        "packets of the sender",
        """\
factors: {flows: [1, 4]}
topology:
  hosts:
    server: {profile: host-10g, nic: {packet_rate: 100000 packets/s}}
    client: {profile: host-10g}
  switch: generic-deep
  links:
    - {between: [server, switch], rate: 10 Gbit/s}
    - {between: [client, switch], rate: 10 Gbit/s}
workload: {transfer: {direction: get, flows: "${flows}"}}
"""
        + PHASES,
        {1: ("packet_rate", "server"), 4: ("packet_rate", "server")},
        "100,000 frames of 1,538 bytes a second are 1.2 of 10 Gbit/s",
    ),
    Limit(
        "CPU of the receiver",
        """\
factors: {servers: [1, 2, 4]}
topology:
  hosts:
    server: {profile: host-10g, count: "${servers}"}
    client: {profile: host-10g, cpu: {cpus: 2, receive_per_byte: 6 ns/B}}
  switch: generic-deep
  links:
    - {between: [server, switch], rate: 10 Gbit/s}
    - {between: [client, switch], rate: 10 Gbit/s}
workload: {transfer: {direction: get}}
"""
        + PHASES,
        {1: ("cpu", "client")},
        "one connection is copied by one CPU: 1 byte in 6 ns are 1.3 Gbit/s",
    ),
    Limit(
        "disk",
        """\
factors: {clients: [1, 2, 4]}
topology:
  hosts:
    server: {profile: hp-n4000, disk: {rate: 160 Mbit/s}}
    client: {profile: host-1g, count: "${clients}"}
  switch: generic-deep
  links:
    - {between: [server, switch], rate: 1 Gbit/s}
    - {between: [client, switch], rate: 1 Gbit/s}
workload: {transfer: {protocol: ftp, size: 4 MB, from: disk}}
procedure: {warmup: 2 s, measure: 5 s}
replicates: 3
noise: 3 %
""",
        {2: ("disk", "server"), 4: ("disk", "server")},
        "160 Mbit/s of 1 Gbit/s",
    ),
    Limit(
        "threads",
        """\
factors: {users: [1, 8, 16]}
topology:
  hosts:
"""
        + tiers(4)
        + """\
    closed: {users: "${users}", think: 0 ms}
    statistics: 1 s
    threads: 3
    costs: {delay: 30 ms, app_cpu: 500 us, database_cpu: 300 us}
procedure: {warmup: 2 s, measure: 10 s}
replicates: 3
noise: 3 %
""",
        {8: ("slots", "app"), 16: ("slots", "app")},
        "three threads, each for about 31 ms",
    ),
    Limit(
        "window of the server",
        """\
factors: {rate: [200 Mbit/s, 1 Gbit/s]}
topology:
  hosts:
    server: {profile: host-1g, tcp: {receive_buffer: 159591 B}} # a window of 96 KiB
    client: {profile: host-1g}
  switch: generic-deep
  links:
    - {between: [server, switch], rate: "${rate}", delay: 15 ms}
    - {between: [client, switch], rate: 1 Gbit/s}
workload: {transfer: {direction: put}}
procedure: {warmup: 1 s, measure: 3 s}
replicates: 3
noise: 3 %
""",
        {"200 Mbit/s": ("window", "server"), "1 Gbit/s": ("window", "server")},
        "a window of 96 KiB in 30 ms is 26 Mbit/s",
    ),
    Limit(
        "send buffer",
        """\
factors: {rate: [200 Mbit/s, 1 Gbit/s]}
topology:
  hosts:
    server: {profile: host-1g, tcp: {send_buffer: 128 KiB}}
    client: {profile: host-1g}
  switch: generic-deep
  links:
    - {between: [server, switch], rate: "${rate}", delay: 20 ms}
    - {between: [client, switch], rate: 1 Gbit/s}
workload: {transfer: {direction: get}}
procedure: {warmup: 1 s, measure: 3 s}
replicates: 3
noise: 3 %
""",
        {"200 Mbit/s": ("send_buffer", "server"), "1 Gbit/s": ("send_buffer", "server")},
        "128 KiB in 40 ms are 26 Mbit/s",
    ),
    Limit(
        "buffer of the switch",
        """\
factors: {flows: [1]}
topology:
  hosts:
    server: {profile: host-1g}
    client: {profile: host-1g}
  switch: {profile: generic-shallow, port_buffer: 24 kB}
  links:
    - {between: [server, switch], rate: 1 Gbit/s}
    - {between: [client, switch], rate: 100 Mbit/s, delay: 25 ms}
workload: {transfer: {direction: get, flows: "${flows}"}}
procedure: {warmup: 5 s, measure: 10 s}
replicates: 3
noise: 3 %
""",
        {1: ("port", "switch")},
        "the path holds 625 kB, and the buffer drops as soon as a burst has 17 frames",
    ),
    Limit(
        "timeouts",
        """\
factors: {servers: [24]}
topology:
  switch: {profile: generic-shallow, port_buffer: 48 kB}
  client: host-10g
  server: {profile: host-10g, count: "${servers}"}
  link: {rate: 10 Gbit/s, delay: 5 us, mtu: 1500}
workload: {incast: {block: 100 kB, iterations: 100, warmup: 10, jitter: {exponential: 50 us}}}
replicates: 5
noise: 3 %
""",
        {24: ("timeouts", "")},
        "24 first windows of 10 segments need 350 kB",
    ),
    Limit(
        "round trip",
        """\
factors: {connections: [1, 2, 4]}
topology:
  hosts:
    server: {profile: host-1g}
    client: {profile: host-1g}
  switch: generic-deep
  links:
    - {between: [server, switch], rate: 1 Gbit/s, delay: 5 ms}
    - {between: [client, switch], rate: 1 Gbit/s}
workload: {request: {request: 100 B, response: 1 kB, connections: "${connections}"}}
procedure: {warmup: 500 ms, measure: 3 s}
replicates: 3
noise: 3 %
""",
        {1: ("round_trip", ""), 2: ("round_trip", ""), 4: ("round_trip", "")},
        "each request takes 10 ms of propagation, and one connection has one under way",
    ),
    Limit(
        "think time",
        """\
factors: {users: [2, 4]}
topology:
  hosts:
"""
        + tiers(4)
        + """\
    closed: {users: "${users}", think: 400 ms}
    statistics: 1 s
    costs: {app_cpu: 2 ms, database_cpu: 1 ms}
procedure: {warmup: 2 s, measure: 20 s}
replicates: 3
noise: 3 %
""",
        {2: ("think_time", ""), 4: ("think_time", "")},
        "users think for most of the time",
    ),
    Limit(
        "delayed acknowledgments",
        """\
factors: {flows: [1, 2]}
topology:
  hosts:
    server: {profile: host-1g}
    client: {profile: host-1g, tcp: {receive_buffer: 5581 B, quick_ack: 0}} # a window of 2 KiB
  switch: generic-deep
  links:
    - {between: [server, switch], rate: 1 Gbit/s}
    - {between: [client, switch], rate: 1 Gbit/s, delay: 500 us}
workload: {transfer: {direction: get, flows: "${flows}"}}
procedure: {warmup: 500 ms, measure: 4 s}
replicates: 3
noise: 3 %
""",
        {1: ("delayed_ack", "client"), 2: ("delayed_ack", "client")},
        "the window has room for one segment, whose acknowledgment waits 40 ms for a second one",
    ),
    Limit(
        "CPU behind full slots",
        """\
factors: {users: [1, 16, 32]}
topology:
  hosts:
"""
        + tiers(1)
        + """\
    closed: {users: "${users}", think: 0 ms}
    statistics: 1 s
    costs: {app_cpu: 500 us, database_cpu: 10 ms, database_slots: 8}
procedure: {warmup: 2 s, measure: 10 s}
replicates: 3
noise: 3 %
""",
        {16: ("cpu", "db"), 32: ("cpu", "db")},
        "all slots are held by requests that wait for the only CPU of the database",
    ),
    Limit(
        "equal buffers",
        """\
factors: {rate: [200 Mbit/s, 1 Gbit/s]}
topology:
  hosts:
    server: {profile: host-1g, tcp: {send_buffer: 96 KiB}}
    client: {profile: host-1g, tcp: {receive_buffer: 159591 B}} # a window of 96 KiB
  switch: generic-deep
  links:
    - {between: [server, switch], rate: "${rate}", delay: 15 ms}
    - {between: [client, switch], rate: 1 Gbit/s}
workload: {transfer: {direction: get}}
procedure: {warmup: 1 s, measure: 3 s}
replicates: 3
noise: 3 %
""",
        {"200 Mbit/s": ("window", "client"), "1 Gbit/s": ("window", "client")},
        "both windows are 96 KiB, and so both bound throughput",
    ),
    Limit(
        "nothing",
        """\
factors: {clients: [1, 2, 4, 8]}
topology:
  hosts:
    server: {profile: host-10g}
    client: {profile: host-1g, count: "${clients}"}
  switch: generic-deep
  links:
    - {between: [server, switch], rate: 10 Gbit/s}
    - {between: [client, switch], rate: 30 Mbit/s}
workload: {transfer: {direction: get}}
"""
        + PHASES,
        {1: ("none", ""), 2: ("none", ""), 4: ("none", ""), 8: ("none", "")},
        "each client brings a link of its own, and the server's has room for 300 of them",
    ),
)
