"""Differences between a study and the user's own network, as the records of runs have them."""

from __future__ import annotations

from netstudy.queues import CoDel
from netstudy.testbed.real.kernel_tcp import KernelRelease
from netstudy.testbed.ssh.departures import HostKernel, departures
from tests.testbed.ssh.test_assignment import INCAST, runs
from tests.testbed.ssh.test_readiness import IPV4, TCP

RELEASE = KernelRelease("6.1.0-28-amd64")
NETWORK = runs(INCAST)[1].network
"""A client and two servers, or three hosts in all, at any order of the levels."""


def said(**changes: dict[str, str]) -> list[str]:
    """The departures where some hosts of the study have other texts of files."""
    kernels = {
        host.name: HostKernel(RELEASE, {**TCP, **changes.get(host.name.replace("-", "_"), {})})
        for host in NETWORK.hosts
    }
    return departures(NETWORK, kernels)


def test_the_profiles_of_hosts_and_switches_are_claims() -> None:
    lines = said()
    assert any("buffers and the forwarding of generic-shallow is a claim" in one for one in lines)
    assert any(
        "CPUs of their own: the figures of host-1g for server are not imposed" in one
        for one in lines
    )
    assert len(lines) == len(set(lines))


def test_the_queues_of_a_switch_are_a_claim_too() -> None:
    (switch,) = NETWORK.switches
    ends = [
        {
            name: end.model_copy(update={"queue": CoDel() if end.node == switch.name else None})
            for name, end in (("a", link.a), ("b", link.b))
        }
        for link in NETWORK.links
    ]
    links = [link.model_copy(update=each) for link, each in zip(NETWORK.links, ends, strict=True)]
    network = NETWORK.model_copy(update={"links": tuple(links)})
    kernels = {host.name: HostKernel(RELEASE, TCP) for host in network.hosts}
    claim = "That ports of switch have codel is a claim of the study too: set it at the switch."
    assert claim in departures(network, kernels)
    assert claim not in said()


def test_a_setting_that_differs_at_one_host_names_it() -> None:
    larger = {f"{IPV4}rmem": "4096 131072 33554432"}
    lines = said(client=larger)
    assert (
        "At client, receive_buffer is 32 MiB, not 6 MiB: a setting of the whole host, which is "
        "left as it is."
    ) in lines
    everywhere = said(**{host.name.replace("-", "_"): larger for host in NETWORK.hosts})
    assert any(one.startswith("At server, receive_buffer is 32 MiB") for one in everywhere)


def test_hosts_whose_connections_inherit_from_earlier_runs_are_named() -> None:
    lines = said(client={f"{IPV4}no_metrics_save": "0"})
    assert any(one.startswith("Connections of client inherit ssthresh") for one in lines)
    assert not any("inherit" in one for one in said())
