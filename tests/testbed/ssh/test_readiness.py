"""Whether hosts are ready: what was found at them, made up, and the advice that it gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address
from typing import cast

import pytest

from netstudy import wire
from netstudy.errors import TestbedError
from netstudy.inventory import parse_inventory
from netstudy.testbed.real.clocks import Ping
from netstudy.testbed.ssh.deploy import Probed
from netstudy.testbed.ssh.host_wire import HostInterface, ReachedRecord
from netstudy.testbed.ssh.hosts import OpenHost
from netstudy.testbed.ssh.look import (
    Activity,
    Looked,
    PathLooked,
    activity,
    offset_ns,
    sizes_to_try,
)
from netstudy.testbed.ssh.needs import InterfaceNeeds, Needs, needs_of_hosts, needs_of_runs
from netstudy.testbed.ssh.readiness import (
    HostAspect,
    host_aspects,
    path_aspects,
    refuse_missing,
    trial_aspect,
)
from netstudy.testbed.ssh.session import HostSession
from netstudy.testbed.ssh.trial import Trial, pairs_of, trial_runs
from tests.testbed.ssh.test_assignment import INCAST, inventory, runs
from tests.testbed.ssh.test_deploy import HELLO

TWO = parse_inventory(
    "hosts: {alpha: {ssh: a, address: 192.0.2.1}, beta: {ssh: b, address: 192.0.2.2}}", "hosts.yaml"
)
ALPHA, BETA = IPv4Address("192.0.2.1"), IPv4Address("192.0.2.2")
PROBED = Probed("x86_64", frozenset(), (10**10, 10**10), ())
DEVICE = HostInterface(
    device="ens1f0",
    addresses=("192.0.2.1/24", "2001:db8::1/64"),
    mtu=1500,
    up=True,
    speed_bps=10**10,
    duplex="full",
    kind="ether",
    features={"rx-gro": "on", "rx-lro": "off", "tx-tcp-segmentation": "on [fixed]"},
    qdiscs=("mq", "fq_codel"),
)
IPV4 = "/proc/sys/net/ipv4/tcp_"
TCP = {
    f"{IPV4}available_congestion_control": "reno cubic bbr\n",
    f"{IPV4}allowed_congestion_control": "reno cubic\n",
    f"{IPV4}sack": "1\n",
    f"{IPV4}no_metrics_save": "1\n",
}
LOOKED = Looked(
    tcp=TCP,
    governors=(),
    interfaces=(DEVICE,),
    pings=(Ping(0, 10**9 + 10, 40), Ping(100, 10**9 + 130, 140)),
    activity=Activity(0.01, {"ens1f0": 0.0}),
)


class _Session:
    host = "alpha"
    hello = HELLO


def found(
    looked: Looked = LOOKED, probed: Probed = PROBED, needs: Needs | None = None, **hello: object
) -> Mapping[str, HostAspect]:
    """The aspects of a host, by name."""
    session = _Session()
    session.hello = HELLO.model_copy(update=hello)
    opened = OpenHost(cast("HostSession", session), probed)
    asked = needs or needs_of_hosts(TWO, ["alpha", "beta"])
    aspects = list(host_aspects(opened, looked, TWO, asked, "hosts.yaml"))
    return {one.name: one for one in aspects}


def link(**changes: object) -> Looked:
    return replace(LOOKED, interfaces=(DEVICE.model_copy(update=changes),))


def wanted(**changes: object) -> Needs:
    own = replace(InterfaceNeeds(None, {10**10}, {1500}), **changes)  # type: ignore[arg-type]
    return Needs(interfaces={("alpha", ALPHA): own})


A, B = ("alpha", ALPHA), ("beta", BETA)


def test_a_pair_is_tried_once_whichever_host_is_the_client() -> None:
    assert pairs_of(needs_of_hosts(TWO, ["alpha", "beta"])) == [(A, B)]
    server_first = Needs(paths={(B, A): set(), (A, B): set()})
    assert pairs_of(server_first) == [(B, A)]


def test_a_trial_shows_the_rate_of_the_data_and_of_both_links() -> None:
    found = trial_aspect(Trial((A, B), B, A, 9.4149e8, (10**9, None)))
    assert (found.host, found.name, found.ok) == ("alpha - beta", "trial", True)
    assert found.found == (
        "from beta to alpha: 941.5 Mbit/s of data; their links have 1 Gbit/s and an unknown rate"
    )


def test_a_trial_that_failed_has_its_reason_and_prevents_no_run() -> None:
    found = trial_aspect(Trial((A, B), A, B, TestbedError("beta: gone"), (None, None)))
    assert (found.ok, found.needed) == (False, False)
    assert found.found == "from alpha to beta: beta: gone"


def test_a_trial_sends_for_half_a_second_in_each_direction() -> None:
    assert set(trial_runs()) == {"get", "put"}
    for direction, run in trial_runs().items():
        phases = [phase.until for phase in run.phases]
        assert sum(one.ns for one in phases if isinstance(one, wire.UntilTime)) == 500_000_000
        assert run.workload.sending == ({"get": "server", "put": "client"}[direction],)


def test_a_host_that_has_everything_is_well() -> None:
    aspects = found(needs=wanted())
    assert [one.name for one in aspects.values() if not one.ok] == []
    assert aspects["log-in"].found == "a as ns (uid 1000)"
    assert aspects["interface"].found == "ens1f0 has 192.0.2.1, 10 Gbit/s, full duplex, MTU 1500"
    # The second ping narrows the first: 1 s - 10 ns … 1 s + 10 ns, then - 10 … + 30.
    assert offset_ns(LOOKED.pings) == (10**9 - 10, 10**9 + 10)
    assert aspects["clock"].found == "+1.000000 s to the clock here, known to ± 0 us"


@pytest.mark.parametrize(
    ("looked", "needs", "name", "told", "advice"),
    [
        (
            link(addresses=("192.0.2.9/24",)),
            None,
            "address",
            "does not have 192.0.2.1; it has 192.0.2.9 (ens1f0)",
            "leads to another host",
        ),
        (
            link(up=False),
            None,
            "interface",
            "it is down, or has no carrier",
            "sudo ip link set dev ens1f0 up",
        ),
        (link(duplex="half"), None, "interface", "half duplex loses frames", "autoneg on"),
        (
            link(speed_bps=10**9),
            wanted(),
            "interface",
            "MTU 1500; the study's link has 10 Gbit/s",
            "rate: 1 Gbit/s",
        ),
        (
            link(mtu=9000),
            wanted(),
            "interface",
            "the study's link has an MTU of 1500",
            "sudo ip link set dev ens1f0 mtu 1500",
        ),
        (
            LOOKED,
            wanted(device="ens2"),
            "interface",
            "the inventory says ens2",
            "write device: ens1f0",
        ),
        (
            LOOKED,
            wanted(rates_bps={10**9, 10**10}),
            "interface",
            "the study's link has 1 Gbit/s",
            "no scale",
        ),
    ],
)
def test_an_interface_that_is_not_the_studys_is_refused(
    looked: Looked, needs: Needs | None, name: str, told: str, advice: str
) -> None:
    aspect = found(looked, needs=needs)[name]
    assert (aspect.ok, aspect.needed) == (False, True)
    assert told in aspect.found
    assert aspect.advice is not None
    assert advice in aspect.advice


def test_an_unknown_rate_is_no_refusal() -> None:
    aspect = found(link(speed_bps=None, duplex=None), needs=wanted())["interface"]
    assert (aspect.ok, aspect.needed) == (False, False)
    assert "rate unknown" in aspect.found


@pytest.mark.parametrize(
    ("looked", "probed", "name", "told"),
    [
        (replace(LOOKED, governors=("powersave",)), PROBED, "governor", "powersave"),
        (
            LOOKED,
            replace(PROBED, printed=("Welcome", "x")),
            "start files",
            'print 2 lines: "Welcome"',
        ),
        (LOOKED, replace(PROBED, free_bytes=(10**6, 10**6)), "disk", "1.0 MB free for ~/.cache"),
        (replace(LOOKED, activity=Activity(0.2, {})), PROBED, "other load", "20.0 % of the CPUs"),
        (
            replace(LOOKED, activity=Activity(0.0, {"ens1f0": 1e8})),
            PROBED,
            "other traffic",
            "100.00 Mbit/s at ens1f0",
        ),
        (
            replace(LOOKED, tcp={**TCP, f"{IPV4}no_metrics_save": "0"}),
            PROBED,
            "TCP",
            "runs are not independent",
        ),
        (
            replace(LOOKED, pings=(Ping(0, 500, 10), Ping(100, 50, 110))),
            PROBED,
            "clock",
            "jumped while it was read",
        ),
    ],
)
def test_a_circumstance_that_disturbs_is_told_and_does_not_refuse(
    looked: Looked, probed: Probed, name: str, told: str
) -> None:
    aspect = found(looked, probed)[name]
    assert (aspect.ok, aspect.needed) == (False, False)
    assert told in aspect.found
    assert aspect.advice


class TestTcp:
    @staticmethod
    def needs(**tcp: object) -> Needs:
        """The needs of a client with these settings of TCP."""
        asked = needs_of_runs(runs(INCAST), inventory(4, "client: h1, server: [h2, h3, h4]"))
        (group,) = asked.groups["h1"]
        changed = group.model_copy(update={"tcp": group.tcp.model_copy(update=tcp)})
        return replace(wanted(), groups={"alpha": [changed]})

    def test_a_congestion_control_that_only_root_may_choose_is_missing_for_others(self) -> None:
        needs, looked = (
            self.needs(),
            replace(LOOKED, tcp={**TCP, f"{IPV4}allowed_congestion_control": "reno"}),
        )
        aspect = found(looked, needs=needs)["congestion"]
        assert (aspect.ok, aspect.needed) == (False, True)
        assert aspect.found == "alpha lacks cubic; it has reno"
        assert aspect.advice == 'sudo sysctl net.ipv4.tcp_allowed_congestion_control="cubic reno"'
        assert found(looked, needs=needs, uid=0)["congestion"].ok

    def test_a_congestion_control_that_no_other_testbed_has_is_looked_for_at_the_host(self) -> None:
        needs = self.needs(congestion_control="vegas")
        aspect = found(needs=needs)["congestion"]
        assert (aspect.ok, aspect.needed) == (False, True)
        assert aspect.found == "alpha lacks vegas; it has cubic, reno"
        assert aspect.advice == (
            "sudo modprobe -a tcp_vegas && "
            'sudo sysctl net.ipv4.tcp_allowed_congestion_control="cubic reno vegas"'
        )
        offering = {
            name: f"{text} vegas" if "congestion" in name else text for name, text in TCP.items()
        }
        assert found(replace(LOOKED, tcp=offering), needs=needs)["congestion"].ok

    def test_a_setting_that_the_study_asks_for_is_refused_with_its_command(self) -> None:
        aspect = found(needs=self.needs(sack=False))["TCP"]
        assert (aspect.ok, aspect.needed) == (False, True)
        assert aspect.found == "sack is true, not false"
        assert aspect.advice == "sudo sysctl net.ipv4.tcp_sack=0"

    def test_a_setting_without_a_sysctl_in_this_kernel_is_left_to_the_variant(self) -> None:
        aspect = found(needs=self.needs(min_rto_ns=8_000_000))["TCP"]
        assert (aspect.found, aspect.needed) == ("min_rto is 200 ms, not 8 ms", True)
        assert aspect.advice == "leave it out in the study's variant for hosts, or use netns"
        newer = replace(LOOKED, tcp={**TCP, f"{IPV4}rto_min_us": "200000\n"})
        aspect = found(newer, needs=self.needs(min_rto_ns=8_000_000))["TCP"]
        assert aspect.advice == "sudo sysctl net.ipv4.tcp_rto_min_us=8000"

    def test_a_setting_that_only_a_profile_describes_is_a_departure(self) -> None:
        looked = replace(LOOKED, tcp={**TCP, f"{IPV4}rmem": "4096 131072 33554432"})
        aspect = found(looked, needs=self.needs())["TCP"]
        assert (aspect.ok, aspect.needed) == (False, False)
        assert aspect.found.startswith("receive_buffer is 32 MiB, not 6 MiB; only the profile")


def test_files_need_a_kernel_that_keeps_paths_inside_a_folder() -> None:
    two = inventory(2, "client: [h1], server: [h2]")
    files = INCAST.replace("[1, 2, 3]", "[1]").replace(
        "incast: {block: 32 kB, iterations: 10}",
        "transfer: {protocol: ftp, size: 200 kB, from: ram, to: ram}",
    )
    assert needs_of_runs(runs(files), two).storing == {"h1", "h2"}
    in_memory = files.replace(", from: ram, to: ram", "")
    assert needs_of_runs(runs(in_memory), two).storing == set()
    storing = Needs(storing={"alpha"})
    aspect = found(needs=storing, kernel="5.4.0-216-generic")["files"]
    assert (aspect.ok, aspect.needed) == (False, True)
    assert aspect.found == "alpha has Linux 5.4; files need Linux 5.6 or later"
    assert "files" not in found(needs=storing, kernel="5.6.0")
    assert "files" not in found(kernel="5.4.0")


PATH = PathLooked(
    ("alpha", ALPHA),
    ("beta", BETA),
    5000,
    (1500, 1400, 576),
    ReachedRecord(n=1, tcp=None, connect_ns=200_000, largest_bytes=1500, told_mtu_bytes=None),
)


def path(round_trips_ns: set[int] | None = None, **changes: object) -> list[HostAspect]:
    assert isinstance(PATH.reached, ReachedRecord)
    reached = PATH.reached.model_copy(update=changes)
    needs = Needs(paths={(PATH.client, PATH.server): round_trips_ns or set()})
    return list(path_aspects(replace(PATH, reached=reached), needs))


def test_a_path_that_answers_is_well() -> None:
    aspects = path({4_000})
    assert [one.ok for one in aspects] == [True, True]
    assert [one.host for one in aspects] == ["alpha - beta"] * 2
    assert "192.0.2.2 port 5000 answers within 0.20 ms" in aspects[0].found


def test_a_port_that_does_not_answer_is_named_with_both_ends() -> None:
    (aspect,) = path(tcp="ECONNREFUSED: Connection refused", connect_ns=None, largest_bytes=None)
    assert (aspect.ok, aspect.needed) == (False, True)
    assert aspect.found == (
        "192.0.2.2 port 5000 does not answer alpha: ECONNREFUSED: Connection refused"
    )
    assert aspect.advice is not None
    assert "pass TCP from 192.0.2.1 to port 5000" in aspect.advice


def test_a_server_that_cannot_listen_is_named() -> None:
    broken = replace(PATH, reached=TestbedError("beta: listen 4: Address in use"))
    (aspect,) = path_aspects(broken, Needs())
    assert (aspect.ok, aspect.needed) == (False, True)
    assert "beta cannot listen on 192.0.2.2 port 5000" in aspect.found


def test_packets_that_vanish_are_told_with_the_largest_that_pass() -> None:
    aspect = path(largest_bytes=1400, told_mtu_bytes=1450)[1]
    assert (aspect.ok, aspect.needed) == (False, True)
    assert aspect.found == (
        "packets of 1500 bytes do not pass, of 1400 they do (the path says 1450)"
    )


def test_a_path_without_udp_has_an_unknown_mtu() -> None:
    aspect = path(largest_bytes=None)[1]
    assert (aspect.ok, aspect.needed) == (False, False)


def test_a_delay_that_the_network_does_not_have_is_refused() -> None:
    aspect = path({4_000, 40_000_000})[0]
    assert (aspect.ok, aspect.needed) == (False, True)
    assert "the study's links take 40 ms there and back" in aspect.found


def test_what_is_missing_refuses_a_run_and_what_disturbs_does_not() -> None:
    refuse_missing([HostAspect("alpha", "governor", False, "powersave", "x", needed=False)])
    with pytest.raises(TestbedError) as refusal:
        refuse_missing(
            [
                HostAspect("alpha", "address", False, "is not there", "correct it"),
                HostAspect("beta", "session", False, "is in use"),
                HostAspect("beta", "disk", True, "free"),
            ]
        )
    assert str(refusal.value) == (
        "the hosts are not ready:\n  - alpha: is not there (correct it)\n  - beta: is in use"
    )


class TestNeeds:
    def test_each_client_of_a_study_talks_to_its_servers(self) -> None:
        owned = inventory(4, "client: h4, server: [h1, h2, h3]")
        needs = needs_of_runs(runs(INCAST), owned)
        client = ("h4", IPv4Address("192.0.2.4"))
        assert [ends for ends in needs.paths if ends[0] != client] == []
        assert [server for _, (server, _) in needs.paths] == ["h1", "h2", "h3"]
        assert needs.interfaces[client].rates_bps == {10**9}
        assert needs.interfaces[client].mtus_bytes == {1500}
        assert set(needs.hosts) == {"h1", "h2", "h3", "h4"}

    def test_without_a_study_each_two_hosts_talk_in_both_directions(self) -> None:
        needs = needs_of_hosts(TWO, ["alpha", "beta"])
        alpha, beta = ("alpha", ALPHA), ("beta", BETA)
        assert set(needs.paths) == {(alpha, beta), (beta, alpha)}


def test_activity_is_the_growth_between_two_readings() -> None:
    stat = "cpu  {user} 0 0 {idle} 10 0 0 0 99 99\ncpu0 1 2 3"
    rx, tx = (f"/sys/class/net/eth0/statistics/{way}_bytes" for way in ("rx", "tx"))
    first = {"/proc/stat": stat.format(user=100, idle=1000), rx: "1000\n", tx: "50\n"}
    second = {"/proc/stat": stat.format(user=150, idle=1150), rx: "2000\n", tx: "300\n"}
    # 50 of 200 ticks; (1000 + 250) bytes in 2 s.
    assert activity(first, second, ["eth0", "lo"], 2.0) == Activity(0.25, {"eth0": 5_000.0})


def test_sizes_of_packets_begin_with_the_smaller_mtu() -> None:
    assert sizes_to_try(9000, 1500) == (1500, 1492, 1450, 1400, 1280, 576)
    assert sizes_to_try(1420, 9000)[:2] == (1420, 1400)
