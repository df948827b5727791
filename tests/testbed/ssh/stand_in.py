"""Stands in for `netstudy-engine host`: usage: stand_in.py NONCE [MANNER].

Answers commands at once; a child echoes its lines until its input is closed or it is killed.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

HELLO = {
    "kind": "hello",
    "version": "0.1.0",
    "agent_protocol": 2,
    "architecture": "x86_64",
    "kernel": "6.1.0",
    "boot_id": "b",
    "time_namespace": None,
    "tick_ns": 4_000_000,
    "pid": 7,
    "user": "ns",
    "uid": 1000,
    "cpus": 2,
}


def write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def say(kind: str, **fields: Any) -> None:
    write("\t" + json.dumps({"kind": kind, **fields}))


def obey(command: dict[str, Any], manner: str) -> None:
    match command:
        case {"command": "alive"}:
            say("alive")
        case {"command": "clock", "n": n}:
            say("clock", n=n, monotonic_ns=time.monotonic_ns() + 10**12, realtime_ns=1)
        case {"command": "start", "name": "refused"}:
            say("error", message="the name 'refused' is in use")
        case {"command": "start", "name": name}:
            say("started", name=name, pid=9)
            write(f"{name}\tready")
        case {"command": "close", "name": name}:
            if manner != "stubborn":
                say("ended", name=name, code=3, signal=None, errors="last words")
        case {"command": "signal", "name": name}:
            say("ended", name=name, code=None, signal=9, errors="")
        case {"command": "read", "n": n, "paths": paths}:
            say("read", n=n, files=dict.fromkeys(paths, "text"))
        case {"command": "interfaces", "n": n}:
            say("error", message=f"interfaces {n}: no netlink")
        case {"command": "listen", "n": n}:
            say("listening", n=n, port=4000)


def main(nonce: str, manner: str = "") -> None:
    if manner == "dead":
        sys.exit("sh: 1: exec: /x/engine-1: Permission denied")
    write("Welcome!\nnetstudy 0000\n\tnot ours")
    if manner == "unended":
        sys.stdout.write("$ ")
    write(f"netstudy {nonce}")
    say(**HELLO)  # type: ignore[arg-type]
    if manner == "locked":
        say("locked", pid=4212, uid=1002, since="2026-11-29T07:41:09Z")
        return
    sys.stdin.readline()
    say("alive")
    if manner == "silent":
        time.sleep(60)
    for line in sys.stdin:
        name, _, rest = line.rstrip("\n").partition("\t")
        if not name:
            obey(json.loads(rest), manner)
        elif rest == "pause":
            say("paused", name=name)
        elif rest == "lease":
            say("lease-over")
        elif rest == "junk":
            write("no tab")
        elif rest == "die":
            sys.exit("out of memory")
        elif rest == "vanish":
            sys.exit()
        else:
            write(f"{name}\t{rest}")


main(*sys.argv[1:])
