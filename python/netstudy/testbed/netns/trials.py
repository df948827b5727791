"""Tries what this machine does with the networks of a plan, before any of its runs is made.

`ceilings` starts this module as a program in a sandbox of its own. That makes the hardest networks
of the plan with roomy buffers, has every server send without pause for a moment, and says where the
machine does not keep up. A few seconds, longer only where something does not fit.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import get_args

from pydantic import TypeAdapter

from netstudy import wire
from netstudy.errors import NetstudyError, TestbedError
from netstudy.testbed.base import Examination
from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.capabilities import kernel
from netstudy.testbed.netns.kernel import Kernel
from netstudy.testbed.netns.layout import Switching, make_layout
from netstudy.testbed.netns.limits import (
    Ceiling,
    Trial,
    excess,
    fastest_bps,
    find_ceiling,
    hardest,
    mtu_bytes,
    reached,
)
from netstudy.testbed.netns.network import network as made
from netstudy.testbed.netns.runner import Setting, carry_out, processors
from netstudy.testbed.netns.sandbox import enter, sandbox_command
from netstudy.testbed.process import dies_with_parent
from netstudy.testbed.real.evidence import Evidence
from netstudy.testbed.real.incast import response_bytes
from netstudy.testbed.real.judge import path_limits
from netstudy.testbed.real.process import NodeError
from netstudy.wire import Network, Plan

_ITERATION_S = 0.25
_ITERATIONS = 3
_BLOCK_BYTES_MAX = 128_000_000
"""Of an iteration: a tenth of a second at 10 Gbit/s, and not for ever at rates out of reach."""
_WINDOW_BYTES = 262_144
"""What a connection may have under way: enough for the way through this machine, at any rate."""
_TIME_LIMIT_S = 120

_CEILINGS = TypeAdapter(list[Ceiling])


def examine(plan: Plan, switching: Switching) -> Examination:
    """What of the plan asks for more than this machine can do, and what the machine reached.

    Raises TestbedError when it cannot be tried.
    """
    tried = list(zip(hardest(plan), ceilings(plan, switching), strict=True))
    said = [excess(network, ceiling) for network, ceiling in tried]
    return Examination(
        refusals=tuple(sentence for sentence in said if sentence is not None),
        machine={
            f"self-test at an MTU of {mtu_bytes(network)} B": reached(network, ceiling.best)
            for network, ceiling in tried
            if ceiling.best is not None
        },
    )


def ceilings(plan: Plan, switching: Switching) -> list[Ceiling]:
    """What this machine reaches with each of the plan's hardest networks, in their order.

    Raises TestbedError when it cannot be tried.
    """
    command = sandbox_command([sys.executable, "-m", __name__, f"--switching={switching}"])
    try:
        tried = subprocess.run(
            command,
            input=wire.to_json(plan),
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT_S,
            preexec_fn=dies_with_parent(),
        )
    except subprocess.TimeoutExpired as error:
        message = f"the machine could not be tried within {_TIME_LIMIT_S} s"
        raise TestbedError(message) from error
    if tried.returncode != 0:
        last = (tried.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        raise TestbedError(f"the machine could not be tried: {last}")
    return _CEILINGS.validate_json(tried.stdout)


def trial_run(run: wire.Run, rate_bps: int) -> wire.Run:
    """The run's network with its fastest link at a rate, and a work that fills that link.

    Nothing is lost: the buffers hold all that may be under way.
    """
    servers = next(group for group in run.network.hosts if group.name == run.workload.servers)
    block_bytes = min(max(round(rate_bps * _ITERATION_S / 8), servers.count), _BLOCK_BYTES_MAX)
    return run.model_copy(
        update={
            "network": _roomy(_at_rate(run.network, rate_bps)),
            "workload": wire.Incast(
                client=run.workload.client,
                servers=run.workload.servers,
                block_bytes=block_bytes,
                striped=True,
                iterations=_ITERATIONS,
                warmup_iterations=1,
            ),
        }
    )


def _at_rate(network: Network, rate_bps: int) -> Network:
    fastest = fastest_bps(network)
    links = [
        link.model_copy(update={"rate_bps": max(link.rate_bps * rate_bps // fastest, 1)})
        for link in network.links
    ]
    return network.model_copy(update={"links": tuple(links)})


def _roomy(network: Network) -> Network:
    hosts = [group.model_copy(update={"tcp": _limited(group.tcp)}) for group in network.hosts]
    room_bytes = 2 * _WINDOW_BYTES * sum(group.count for group in network.hosts)
    switch = network.switch.model_copy(
        update={
            "buffer": wire.OutputQueued(port_buffer_bytes=room_bytes),
            "ecn_threshold_bytes": None,
        }
    )
    return network.model_copy(update={"hosts": tuple(hosts), "switch": switch})


def _limited(tcp: wire.Tcp) -> wire.Tcp:
    return tcp.model_copy(
        update={
            "send_buffer_bytes": _WINDOW_BYTES,
            "receive_buffer_bytes": _WINDOW_BYTES,
            "restart_after_idle": False,
        }
    )


def outcome(run: wire.Run, evidence: Evidence) -> Trial:
    """What a trial came to."""
    times = evidence.iterations
    busy_ns = sum(times.ended_ns) - sum(times.started_ns)
    asked = sum(response_bytes(run.workload, len(evidence.servers))) * len(times.started_ns)
    frames = sum(evidence.switch.growth(host.node)["frames_forwarded"] for host in evidence.hosts)
    clock = evidence.switch.clock
    complaints = [_complaint(limit) for limit in path_limits(evidence) if limit.exceeded]
    return Trial(
        rate_bps=fastest_bps(run.network),
        goodput_bps=asked * 8e9 / busy_ns,
        packets_per_s=frames * 1e9 / busy_ns,
        lateness_us_p99=None if clock is None else clock.late_ns_p99 / 1_000,
        in_time=not complaints,
        why="; ".join(complaints) or None,
    )


def _complaint(limit: wire.TestbedLimit) -> str:
    value = "unknown" if limit.value is None else f"{limit.value:,.0f} {limit.unit}".strip()
    return f"{limit.name}: {value}, of {limit.allowed:,.0f} allowed ({limit.evidence})"


def _ceilings(plan: Plan, switching: Switching, here: Kernel) -> Iterator[Ceiling]:
    """What the machine reaches with each of the hardest networks; in a sandbox."""
    for network in hardest(plan):
        run = next(run for run in plan.runs if run.network == network)
        yield find_ceiling(network, partial(_try, run, switching, here))


def _try(run: wire.Run, switching: Switching, here: Kernel, rate_bps: int) -> Trial:
    own = processors(os.sched_getaffinity(0))
    tried = trial_run(run, rate_bps)
    layout = make_layout(tried.network, here, switching=switching, receive_cpu=own.hosts)
    setting = Setting(tried, layout, find_engine(), own)
    with made(layout, tried.network.switch.buffer):
        return outcome(tried, asyncio.run(carry_out(setting, {})))


def main() -> int:
    """Read a plan on standard input, write the ceilings as JSON."""
    parser = argparse.ArgumentParser(prog=f"python -m {__name__}")
    parser.add_argument("--switching", choices=get_args(Switching), required=True)
    asked = parser.parse_args()
    plan = Plan.model_validate_json(sys.stdin.buffer.read())
    try:
        enter()
        found = list(_ceilings(plan, asked.switching, kernel()))
    except (NetstudyError, NodeError) as error:
        print(error, file=sys.stderr)
        return TestbedError.exit_code
    sys.stdout.buffer.write(_CEILINGS.dump_json(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
