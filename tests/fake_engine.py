#!/usr/bin/env python3
"""An engine that misbehaves on request, for tests of what the front does about it.

It reads a plan and answers with a made-up record a run, as `netstudy-engine sim` would. The
environment variable FAKE_ENGINE says what goes wrong, as `fault:count`: after `count` runs it
crashes, is killed, hangs, writes garbage, breaks a line off, ends without an end, repeats a run,
fills the disk, or fails and breaks laws. `poison:id` kills it at the run of that id, each time.
FAKE_ENGINE_LOG names a file that each run started is noted in.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def write(record: Record) -> None:
    sys.stdout.write(json.dumps(record, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def run_record(run: Record, status: str = "ok") -> Record:
    iterations = next(p["until"]["count"] for p in run["phases"] if p["kind"] == "measure")
    roles = run["workload"]["roles"]
    zeros = [0] * len(roles["server"])
    faults: dict[str, Record] = {
        "ok": {},
        "failed": {"error": "server-3 never answered"},
        "invalid": {
            "checks": [{"law": "bytes in = bytes out", "holds": False, "detail": "9 < 10"}]
        },
    }
    base = int(run["seed"], 16) % 1_000_000
    samples = {
        "completion_ns": [3_000_000 + base + i for i in range(iterations)],
        "dropped_packets": [0] * iterations,
        "retransmissions": [0] * iterations,
        "timeouts": [0] * iterations,
    }
    return {
        "kind": "run",
        "run": run["id"],
        "treatment": run["treatment"],
        "replicate": run["replicate"],
        "seed": run["seed"],
        "status": status,
        "phases": [{"kind": "measure", "start_ns": 0, "end_ns": sum(samples["completion_ns"])}],
        "samples": {
            "iteration": samples,
            "connection": {
                "client": roles["client"] * len(zeros),
                "server": roles["server"],
                "bytes_received": [run["workload"]["block_bytes"] * iterations] * len(zeros),
                "bytes_sent": [64 * iterations] * len(zeros),
                "busy_ns": zeros,
                "retransmissions": zeros,
                "timeouts": zeros,
            },
        },
        **faults[status],
    }


def fill_disk(folder: str) -> None:
    with (Path(folder) / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def misbehave(fault: str, done: list[Record]) -> None:
    """What happens instead of the next run."""
    if fault == "crash":
        sys.stderr.write("thread 'main' panicked at 'queue is empty'\n")
        sys.exit(101)
    elif fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "ended":
        os.kill(os.getpid(), signal.SIGTERM)
    elif fault == "poison":
        sys.stderr.write("memory allocation of 8589934592 bytes failed\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGABRT)
    elif fault == "hang":
        signal.pause()
    elif fault == "garbage":
        sys.stdout.write("\x00\x01 not a record\n")
    elif fault == "broken":
        sys.stdout.write('{"kind":"run","run":"0123')
        sys.exit(1)
    elif fault == "silent":
        sys.exit(0)
    elif fault == "repeat":
        write(run_record(done[-1]))
    elif fault == "fill":
        fill_disk(os.environ["FAKE_ENGINE_DISK"])
    sys.stdout.flush()


def note(run: Record) -> None:
    path = os.environ.get("FAKE_ENGINE_LOG")
    if path:
        with Path(path).open("a") as file:
            file.write(run["id"] + "\n")


def main() -> None:
    if sys.argv[1] == "--version":
        print("fake-engine 1.0")
        return
    fault, _, count = os.environ.get("FAKE_ENGINE", "").partition(":")
    lines = [json.loads(line) for line in sys.stdin]
    parts = {line["name"]: line for line in lines if "name" in line}
    if fault == "refuse":
        sys.stderr.write("run 0: a switch with 24 ports cannot take 30 hosts\n")
        sys.exit(2)
    version = os.environ.get("FAKE_ENGINE_VERSION", "1.0")
    schema = "netstudy/record/2"
    write({"kind": "engine", "schema": schema, "version": version, "testbed": "sim"})
    runs = [
        {**parts[line["of"]], **line, "workload": parts[line["workload"]]["workload"]}
        for line in lines
        if line.get("kind") == "run"
    ]
    for index, run in enumerate(runs):
        if count and count == (run["id"] if fault == "poison" else str(index)):
            misbehave(fault, runs[:index])
        note(run)
        bad = fault in ("failed", "invalid") and count == str(index)
        write(run_record(run, fault if bad else "ok"))
        progress = {"kind": "progress", "runs_done": index + 1, "runs": len(runs)}
        write({**progress, "packets": index + 1, "packets_planned": len(runs)})
    write({"kind": "end", "runs": len(runs)})


main()
