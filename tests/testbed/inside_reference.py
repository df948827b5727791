"""What other programs measure on links that the testbed made: prints it as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from netstudy.testbed.netns.kernel import kernel
from netstudy.testbed.netns.layout import Address
from netstudy.testbed.netns.namespaces import in_namespace
from netstudy.testbed.netns.network import network
from netstudy.testbed.netns.sandbox import enter
from tests.testbed.networks import direct, layout
from tests.testbed.switched import carried

_MEGABIT = 1_000_000


def iperf3_0() -> Any:
    """Goodput of one connection over a link that the kernel carries, in bit/s."""
    plan = layout(direct(rate_bps=50 * _MEGABIT), kernel(), switching="user-space")
    with network(plan):
        return _iperf3(*plan.addresses)


def iperf3_1000000() -> Any:
    """The same over a link with a delay of 1 ms, which the switches' program carries."""
    graph = direct(rate_bps=50 * _MEGABIT, delay_ns=1_000_000)
    with carried(graph, paced_ingress=True) as (plan, _):
        return _iperf3(*plan.addresses)


def _iperf3(client: Address, server: Address) -> float:
    with _serving(server, "iperf3", "-s", "-1", "-B", server.ip):
        said = _asked(client, "iperf3", "-c", server.ip, "-R", "-t", "2", "-O", "1", "-J")
    return float(json.loads(said)["end"]["sum_received"]["bits_per_second"])


def netperf() -> Any:
    """Mean time of a request of one byte and its answer over a delay of 2 ms, in ns."""
    with carried(direct(delay_ns=2_000_000), paced_ingress=True) as (plan, _):
        client, server = plan.addresses
        with _serving(server, "netserver", "-D", "-L", server.ip):
            options = ["-t", "TCP_RR", "-l", "1", "-P", "0", "--", "-o", "MEAN_LATENCY"]
            said = _asked(client, "netperf", "-H", server.ip, *options)
        return 1_000 * float(said.strip().splitlines()[-1])


@contextmanager
def _serving(server: Address, name: str, *arguments: str) -> Iterator[None]:
    inside = in_namespace(server.interface.host)
    process = subprocess.Popen([*inside, name, *arguments], stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.3)
        yield
    finally:
        process.kill()
        process.wait()


def _asked(client: Address, *command: str) -> str:
    """What a program prints in the client's namespace; tried again until who serves is there."""
    for _ in range(10):
        inside = [*in_namespace(client.interface.host), *command]
        done = subprocess.run(inside, capture_output=True, text=True, timeout=20, check=False)
        if done.returncode == 0:
            return done.stdout
        time.sleep(0.3)
    raise AssertionError(done.stdout + done.stderr)


CASES: dict[str, Callable[[], Any]] = {
    case.__name__: case for case in (iperf3_0, iperf3_1000000, netperf)
}

if __name__ == "__main__":
    enter()
    print(json.dumps(CASES[sys.argv[1]]()), flush=True)
