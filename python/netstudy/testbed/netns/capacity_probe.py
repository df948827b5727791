"""The capacity probe measures the rates that this machine carries for a plan, before its first run.

`ceilings` starts this module as a program in a sandbox of its own. The program builds the most
demanding networks of the plan, with buffers so large that nothing is lost. It runs the plan's
traffic on them briefly, and reports which rates the machine reaches. This takes a few seconds, and
longer only if the machine is too slow.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import get_args

from pydantic import TypeAdapter

from netstudy import buffers, wire
from netstudy.errors import NetstudyError, TestbedError
from netstudy.plan.estimate import estimate_of
from netstudy.plan.paths import Routes
from netstudy.plan.workloads import lowering_of
from netstudy.plan_lines import plan_bytes, read_plan
from netstudy.testbed.base import Preflight
from netstudy.testbed.child import dies_with_parent
from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.kernel import Kernel, kernel
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
from netstudy.testbed.netns.place import NamespacePlace
from netstudy.testbed.netns.resources import Resources, cpu_pinning
from netstudy.testbed.netns.sandbox import enter, sandbox_command
from netstudy.testbed.real.conduct import carry_out
from netstudy.testbed.real.counters import growth, summed
from netstudy.testbed.real.evidence import Evidence
from netstudy.testbed.real.judge import path_limits
from netstudy.testbed.real.laws import port_growth
from netstudy.testbed.real.processes import NodeError
from netstudy.testbed.real.setting import Setting
from netstudy.testbed.workloads import traffic_of
from netstudy.units import FRAMING_BYTES, bytes_in, payload_bytes
from netstudy.wire import Network, Plan

_TRIAL_S = 0.75
"""Approximate duration of the traffic in one trial."""
_UNIT_S = (0.05, 0.25)
"""Shortest and longest time that the links need for one sample of a workload. Messages are made
larger or smaller to fit, so that the links are the limit."""
_UNIT_BYTES_MAX = 128_000_000
"""The most bytes in a sample: 0.1 s at 10 Gbit/s, so that a trial is short even at a rate that the
machine cannot reach."""
_BYTES_MAX = 3 * _UNIT_BYTES_MAX
"""The most bytes in all samples of a trial together."""
_COUNT_MAX = 2_000
_ALLOWED_S = 0.002
"""In each sample, the time allowed for hosts and the machine, in addition to the time on the
links."""
_WINDOW_BYTES = 262_144
"""The most bytes that a connection has in flight if links have no delay: enough for the path
through this machine at any rate."""
_TIME_LIMIT_S = 120

_CEILINGS = TypeAdapter(list[Ceiling])


def preflight(plan: Plan, scale: Fraction, switching: Switching) -> Preflight:
    """A sentence for each rate of the plan that is too high for this machine, and the rates that
    the machine reached.

    Raises TestbedError when the probe fails.
    """
    tried = list(zip(hardest(plan), ceilings(plan, switching), strict=True))
    said = [excess(run.network, ceiling, scale) for run, ceiling in tried]
    return Preflight(
        unsupported=tuple(sentence for sentence in said if sentence is not None),
        machine={
            _name(run): reached(run.network, ceiling.best)
            for run, ceiling in tried
            if ceiling.best is not None
        },
    )


def _name(run: wire.Run) -> str:
    return f"self-test with {run.workload.kind} at an MTU of {mtu_bytes(run.network)} B"


def ceilings(plan: Plan, switching: Switching) -> list[Ceiling]:
    """The highest rate that this machine carries, for each of the plan's most demanding networks,
    in their order.

    Raises TestbedError when the probe fails.
    """
    command = sandbox_command([sys.executable, "-m", __name__, f"--switching={switching}"])
    try:
        tried = subprocess.run(
            command,
            input=plan_bytes(plan),
            capture_output=True,
            timeout=_TIME_LIMIT_S,
            preexec_fn=dies_with_parent(),
        )
    except subprocess.TimeoutExpired as error:
        message = f"the machine could not be tried within {_TIME_LIMIT_S} s"
        raise TestbedError(message) from error
    if tried.returncode != 0:
        said = tried.stderr.decode("utf-8", "replace").strip()
        last = (said.splitlines() or ["it ended without a word"])[-1]
        raise TestbedError(f"the machine could not be tried: {last}")
    return _CEILINGS.validate_json(tried.stdout)


def trial_run(run: wire.Run, rate_bps: int) -> wire.Run:
    """The run with its fastest link at the given rate, less traffic, and buffers that can store
    everything in flight, so that nothing is lost.
    """
    traffic = traffic_of(run.workload)
    roomy = _roomy(_plain(_at_rate(run.network, rate_bps)), run)
    plain = replace(run, network=roomy, probe=None, instruments=())
    # The study's messages may be so small that hosts are the limit, or too large for a trial.
    each_s, each_bytes = unit(plain)
    share = min(max(each_s, _UNIT_S[0]), _UNIT_S[1]) / each_s if each_s else 1.0
    work = traffic.resized(run.workload, min(share, _UNIT_BYTES_MAX / max(each_bytes, 1)))
    short = replace(plain, workload=work)
    planned = run.until("measure")
    until: wire.Until
    if isinstance(planned, wire.UntilTime):
        until = wire.UntilTime(ns=min(planned.ns, round(1e9 * _TRIAL_S)))
        warm_up: wire.Until = wire.UntilTime(ns=round(1e9 * _TRIAL_S / 4))
    else:
        each_s, each_bytes = unit(short)
        fits = _COUNT_MAX if not each_s else round(_TRIAL_S / each_s)
        count = min(fits, _COUNT_MAX, _BYTES_MAX // max(each_bytes, 1))
        until, warm_up = wire.UntilCount(count=max(count, 1)), wire.UntilCount(count=1)
    phases = (
        wire.Phase(kind="warm-up", until=warm_up),
        wire.Phase(kind="measure", until=until),
    )
    return replace(short, phases=phases)


def unit(run: wire.Run) -> tuple[float, int]:
    """Seconds that the links need for one sample of the workload, and the number of bytes in its
    messages, summed over all connections."""
    once = wire.Phase(kind="measure", until=wire.UntilCount(count=1))
    seconds = estimate_of([replace(run, phases=(once,))]).line_seconds
    loads = lowering_of(run.workload).loads(run.workload)
    return seconds, sum(load.times * load.size_bytes for load in loads)


def _at_rate(network: Network, rate_bps: int) -> Network:
    fastest = fastest_bps(network)

    def scaled(end: wire.Port) -> wire.Port:
        return end.model_copy(update={"rate_bps": max(end.rate_bps * rate_bps // fastest, 1)})

    links = [
        link.model_copy(update={"a": scaled(link.a), "b": scaled(link.b)}) for link in network.links
    ]
    return network.model_copy(update={"links": tuple(links)})


def _plain(network: Network) -> Network:
    """The network without queue disciplines, loss and jitter, which are no limits of this
    machine."""
    links = [
        link.model_copy(
            update={
                "a": link.a.model_copy(update={"queue": None, "path": None}),
                "b": link.b.model_copy(update={"queue": None, "path": None}),
            }
        )
        for link in network.links
    ]
    return network.model_copy(update={"links": tuple(links)})


def _roomy(network: Network, run: wire.Run) -> Network:
    """The network with TCP windows large enough to fill the links, and buffers that can store all
    windows at once."""
    pairs = list(run.workload.connected)
    routes = Routes(network)
    window = _WINDOW_BYTES + max(
        bytes_in(fastest_bps(network), 2 * 2 * route.delay_ns)
        for route in (routes.route(*pair) for pair in dict.fromkeys(pairs))
    )
    groups = [
        group.model_copy(update={"tcp": _limited(group.tcp, window)}) for group in network.groups
    ]
    room = buffers.OutputQueued(port_buffer_bytes=4 * window * len(pairs))
    roomy = {"buffer": room, "ecn_threshold_bytes": None}
    nodes = [
        node.model_copy(update=roomy) if isinstance(node, wire.Switch) else node
        for node in network.nodes
    ]
    return network.model_copy(update={"groups": tuple(groups), "nodes": tuple(nodes)})


def _limited(tcp: wire.Tcp, window_bytes: int) -> wire.Tcp:
    return tcp.model_copy(
        update={
            "send_buffer_bytes": window_bytes,
            "receive_buffer_bytes": window_bytes,
            "restart_after_idle": False,
        }
    )


def outcome(evidence: Evidence) -> Trial:
    """The result of a trial."""
    run, seconds = evidence.run, evidence.counted_ns / 1e9
    rows = evidence.specs.workload
    got = sum(
        evidence.connection_growth(row, role)[0] for row in rows for role in get_args(wire.Role)
    )
    clock = evidence.switch.clock
    complaints = [_complaint(limit) for limit in path_limits(evidence) if limit.exceeded]
    return Trial(
        rate_bps=fastest_bps(run.network),
        goodput_bps=8 * got / seconds,
        ideal_bps=ideal_bps(run),
        packets_per_s=_frames(evidence) / seconds,
        lateness_us_p99=None if clock is None else clock.late_ns_p99 / 1_000,
        in_time=not complaints,
        why="; ".join(complaints) or None,
    )


def ideal_bps(run: wire.Run) -> float:
    """Goodput of all applications together if only the links and the time allowed for hosts limit
    it."""
    each_s, each_bytes = unit(run)
    mtu = mtu_bytes(run.network)
    on_wire_s = each_s * (mtu + FRAMING_BYTES) / payload_bytes(mtu, timestamps=True)
    routes = Routes(run.network)
    pairs = dict.fromkeys(run.workload.connected)
    trips_s = max(2 * routes.route(*pair).delay_ns for pair in pairs) / 1e9
    return 8 * each_bytes / (on_wire_s + trips_s + _ALLOWED_S)


def _frames(evidence: Evidence) -> int:
    ports = port_growth(evidence)
    if ports:
        return sum(
            one["frames_forwarded"] for counted in ports.values() for one in counted.values()
        )
    hosts = {host.name for host in evidence.run.network.hosts}
    read = [one for (host, _), one in evidence.interfaces.items() if host in hosts]
    received = summed(growth(one, "interface") for one in read)
    return received.get("interface_packets_received", 0)


def _complaint(limit: wire.TestbedLimit) -> str:
    value = "unknown" if limit.value is None else f"{limit.value:,.0f} {limit.unit}".strip()
    return f"{limit.name}: {value}, of {limit.allowed:,.0f} allowed ({limit.evidence})"


def _ceilings(plan: Plan, switching: Switching, here: Kernel) -> Iterator[Ceiling]:
    """The highest rate for each of the most demanding networks; called inside a sandbox."""
    for run in hardest(plan):
        yield find_ceiling(run.network, partial(_try, run, switching, here))


def _try(run: wire.Run, switching: Switching, here: Kernel, rate_bps: int) -> Trial:
    own = cpu_pinning(os.sched_getaffinity(0))
    tried = trial_run(run, rate_bps)
    layout = make_layout(tried.network, here, switching=switching, receive_cpu=own.hosts)
    place = NamespacePlace(Resources(tried, layout, find_engine(), own), here)
    return outcome(asyncio.run(carry_out(Setting(tried, place), {})))


def main() -> int:
    """Read a plan on standard input, write the ceilings as JSON."""
    parser = argparse.ArgumentParser(prog=f"python -m {__name__}")
    parser.add_argument("--switching", choices=get_args(Switching), required=True)
    asked = parser.parse_args()
    plan = read_plan(sys.stdin.buffer)
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
