"""The test network of a study's run, made as the testbed `netns` makes it: its links, through the
switches of the engine."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Final

from netstudy import wire
from netstudy.errors import TestbedError
from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns import layout as netns
from netstudy.testbed.netns.kernel import kernel
from netstudy.testbed.netns.namespaces import in_namespace
from netstudy.testbed.netns.network import network
from netstudy.testbed.netns.resources import CpuPinning, cpu_pinning
from netstudy.testbed.netns.switches import switch_plan
from netstudy.testbed.netns.tuning import keep_before_others
from tools.ssh_lab.children import Children
from tools.ssh_lab.hosts import Interface, LabHost

_TIME_LIMIT_MS: Final = 30 * 86_400_000
"""Of the switches, which end with the lab: longer than any lab."""


class StudyNetwork:
    """The network of a run, with hosts that a user could have: a zone is one more address of its
    host, also if the study gives it a network stack of its own."""

    def __init__(self, run: wire.Run, *, tuned: bool) -> None:
        """Unless the hosts are tuned, they have the kernel's TCP as it is."""
        self._run = replace(run, network=_with_shared_stacks(run.network), instruments=())
        self._tuned = tuned

    @cached_property
    def pinning(self) -> CpuPinning:
        """The CPUs of hosts and switches, as in `netns`."""
        return cpu_pinning(os.sched_getaffinity(0))

    @cached_property
    def _layout(self) -> netns.Layout:
        made = netns.make_layout(self._run.network, kernel(), receive_cpu=self.pinning.hosts)
        return made if self._tuned else _untuned(made)

    def hosts(self) -> list[LabHost]:
        """The study's hosts, in order."""
        return [
            LabHost(host.node, number, host.group.name, tuple(self._interfaces(host)))
            for number, host in enumerate(self._layout.hosts, start=1)
        ]

    def _interfaces(self, host: netns.Host) -> Iterator[Interface]:
        for one in host.interfaces:
            here = {each.node: each.ip for each in host.addresses if each.interface is one}
            own = here.pop(host.node)
            # The zone `zone1` of the host `a` is the node `a.zone1`.
            zones = {name.removeprefix(f"{host.node}."): ip for name, ip in here.items()}
            rate_bps = one.end.rate_bps
            yield Interface(one.port, one.device, own, one.peer, False, zones, rate_bps)

    @contextmanager
    def made(self, children: Children) -> Iterator[None]:
        """Make the network, and start the program of the switches. Raises TestbedError."""
        with network(self._layout):
            if self._layout.switched:
                self._start_switches(children)
            yield

    def _start_switches(self, children: Children) -> None:
        plan = switch_plan(self._run, self._layout, self.pinning.switch, _TIME_LIMIT_MS, {})
        switches = children.start(
            [*in_namespace(netns.SWITCHES), str(find_engine()), "switch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert switches.stdin is not None
        assert switches.stdout is not None
        # Both pipes stay open: the switches end with their standard input.
        switches.stdin.write(wire.to_json(plan).encode() + b"\n")
        switches.stdin.flush()
        if b'"ready"' not in switches.stdout.readline():
            raise TestbedError("the switches of the test network do not start")
        preferred = keep_before_others(switches.pid)
        threading.Thread(target=asyncio.run, args=(preferred,), daemon=True).start()


def _with_shared_stacks(net: wire.Network) -> wire.Network:
    nodes = tuple(
        one.model_copy(update={"stack": "shared"}) if isinstance(one, wire.Zone) else one
        for one in net.nodes
    )
    return net.model_copy(update={"nodes": nodes})


def _untuned(made: netns.Layout) -> netns.Layout:
    """The same layout without settings of TCP in the hosts and their routes."""
    return replace(made, hosts=tuple(map(_untuned_host, made.hosts)))


def _untuned_host(host: netns.Host) -> netns.Host:
    plain = replace(host.tcp, sysctls={}, route="")
    addresses = tuple(replace(one, tcp=plain) for one in host.addresses)
    return replace(host, tcp=plain, addresses=addresses)
