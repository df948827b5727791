"""The environment of a host, from made-up files of it."""

from __future__ import annotations

from pathlib import Path

from netstudy.analysis.testbed import NodesAlike
from netstudy.report.node_tables import node_tables
from netstudy.report.tables import Table
from netstudy.store.folder import CAPTURES
from netstudy.store.nodes import NodeEnvironment, keep_node
from netstudy.testbed.ssh.environment import environment, files
from netstudy.testbed.ssh.host_wire import HostInterface
from tests.testbed.ssh.test_deploy import HELLO
from tests.testbed.ssh.test_readiness import DEVICE

TEXTS = {
    "/proc/cpuinfo": "processor\t: 0\nmodel name\t: Xeon\n\nprocessor\t: 1\nmodel name\t: Xeon\n",
    "/proc/meminfo": "MemTotal:       16384 kB\nMemFree:         1024 kB\n",
    "/proc/sys/kernel/ostype": "Linux\n",
    "/proc/sys/kernel/osrelease": "6.1.0-28-amd64\n",
    "/proc/sys/kernel/version": "#1 SMP Debian 6.1.119-1\n",
    "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "/proc/sys/net/ipv4/tcp_fastopen_key": "1-2-3-4\n",
    "/proc/sys/net/core/netdev_rss_key": "00:11\n",
    "/sys/class/net/ens1f0/device/uevent": "DRIVER=ixgbe\nPCI_ID=8086:10FB\n",
    "/sys/class/net/ens1f0/device/driver/module/version": "5.1.0-k\n",
}


def found(device: HostInterface = DEVICE, texts: dict[str, str] = TEXTS) -> NodeEnvironment:
    return environment(HELLO, [device], texts)


def test_a_host_has_its_cpu_memory_driver_offloads_and_queues() -> None:
    host = found()
    assert (host.machine.cpu, host.machine.cpus, host.cpus) == ("Xeon", 2, HELLO.cpus)
    assert host.machine.memory_bytes == 16_384 * 1_024
    assert host.machine.kernel == "Linux 6.1.0-28-amd64 #1 SMP Debian 6.1.119-1"
    (interface,) = host.interfaces
    assert (interface.names, interface.kind) == (("ens1f0",), "ether")
    assert interface.driver == "ixgbe 5.1.0-k"
    assert interface.offloads == "rx-gro: on\nrx-lro: off\ntx-tcp-segmentation: on [fixed]\n"
    assert host.qdiscs == '[{"dev": "ens1f0", "kind": "mq"}, {"dev": "ens1f0", "kind": "fq_codel"}]'


def test_keys_of_the_kernel_are_not_kept() -> None:
    assert found().sysctls == {"net.ipv4.tcp_rmem": "4096 131072 6291456"}


def test_a_value_that_the_host_does_not_give_is_none() -> None:
    host = found(DEVICE.model_copy(update={"features": None}), {})
    assert (host.machine.cpu, host.machine.cpus, host.machine.memory_bytes) == (None, None, None)
    assert host.machine.kernel == f"Linux {HELLO.kernel}"
    assert (host.interfaces[0].driver, host.interfaces[0].offloads) == (None, None)
    assert host.sysctls == {}


def test_every_file_is_asked_for() -> None:
    asked = files(["ens1f0"])
    folders = ("/proc/sys/net/ipv4/tcp_*", "/proc/sys/net/core/*")
    outside = {path for path in TEXTS if not path.startswith("/proc/sys/net/")}
    assert set(asked) == {*folders, *outside}


def test_the_report_shows_the_host(tmp_path: Path) -> None:
    assert rows(tmp_path, found())["interface ens1f0"] == "ether, driver ixgbe 5.1.0-k, MTU 1500 B"
    assert rows(tmp_path, found())["offloads of ens1f0"] == "rx-gro, tx-tcp-segmentation"
    assert rows(tmp_path, found())["queue disciplines"] == "ens1f0: mq, fq_codel"


def test_the_report_says_of_a_missing_value_that_it_is_unknown(tmp_path: Path) -> None:
    shown = rows(tmp_path, found(DEVICE.model_copy(update={"features": None}), {}))
    assert [shown[name] for name in ("CPU", "CPUs of the machine", "memory")] == ["unknown"] * 3
    assert shown["interface ens1f0"] == "ether, driver unknown, MTU 1500 B"
    assert shown["offloads of ens1f0"] == "unknown"


def rows(folder: Path, host: NodeEnvironment) -> dict[str, str]:
    """The overview of a host in the report."""
    name = keep_node(folder / CAPTURES, host)
    (tables,), missing = node_tables(folder, [NodesAlike(name, "server", ("server-1",), ("a",))])
    assert not missing
    return pairs(tables.overview)


def pairs(table: Table) -> dict[str, str]:
    return {str(row[0]): str(row[1]) for row in table.rows}
