"""How long the CPUs, buses and disks of simulated hosts work on one sample of a workload.

Costs are charged where the simulator charges them: packets to the CPU of their interface, calls to
the process of their connection, and both to the host's CPUs together. Waiting is left out, so the
working time of the busiest of them is a lower bound for the duration of a sample.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from netstudy import wire
from netstudy.plan.paths import Routes
from netstudy.plan.workloads.base import Files, Load

_ACK_EVERY = 2
"""Data packets per acknowledgment."""

Packets = Callable[[Load], int]
Place = tuple[str, ...]
"""A CPU, process, bus or disk that does work, with the name of its host first."""


def has_stations(group: wire.Group) -> bool:
    """Whether the simulator charges work to hosts of the group."""
    return group.cpu is not None or group.bus is not None or group.disk is not None


def busiest_seconds(
    routes: Routes, loads: Iterable[Load], files: Files, packets_of: Packets
) -> float:
    """How long the busiest CPU, process, bus or disk of all hosts works on one sample of the
    workload."""
    work = _Work(routes, files)
    for load in loads:
        work.add(load, packets_of(load))
    return max(work.seconds.values(), default=0.0)


@dataclass
class _Work:
    routes: Routes
    files: Files
    seconds: defaultdict[Place, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, load: Load, packets: int) -> None:
        """Adds the work at both ends of the messages; `packets` is the number of data packets of a
        message."""
        self._end(load, load.source, packets, sends=True)
        self._end(load, load.target, packets, sends=False)

    def _end(self, load: Load, endpoint: str, packets: int, *, sends: bool) -> None:
        host, interfaces = self.routes.of(endpoint)
        group = self._group(host)
        size = load.size_bytes
        acks, times = packets // _ACK_EVERY, load.times
        if group.cpu is not None:
            cpu = group.cpu
            sent, received = (packets, acks) if sends else (acks, packets)
            each_ns = sent * cpu.send_packet_ns + received * cpu.receive_packet_ns
            of_packets = 1e-9 * times * each_ns
            of_calls = times * self._calls_s(cpu, size, sends=sends)
            speed = cpu.speed_pct / 100
            self.seconds[host, "packets", *interfaces] += of_packets / speed
            self.seconds[host, "process", load.source, load.target] += of_calls / speed
            self.seconds[host, "cpus"] += (of_packets + of_calls) / speed / cpu.cpus
        if group.bus is not None:
            self._buses(host, group.bus, times * size, self.files.copies(sends=sends))
        if group.disk is not None and self._uses_disk(group.disk, size, sends=sends):
            self.seconds[host, "disk"] += times * size * 8 / group.disk.disk_rate_bps

    def _group(self, host: str) -> wire.Group:
        node = self.routes.network.node(host)
        assert isinstance(node, wire.Host), "only hosts have endpoints"
        return self.routes.network.group(node.group)

    def _calls_s(self, cpu: wire.Cpu, size: int, *, sends: bool) -> float:
        calls = -(-size // cpu.call_bytes) * self.files.copies(sends=sends, at_least=1)
        return 1e-12 * size * self._ps_per_byte(cpu, sends=sends) + 1e-9 * calls * cpu.call_ns

    def _ps_per_byte(self, cpu: wire.Cpu, *, sends: bool) -> int:
        if not sends:
            stored = cpu.file_write_ps_per_byte if self.files.stores else 0
            return cpu.receive_ps_per_byte + stored
        if not self.files.reads:
            return cpu.send_ps_per_byte
        if self.files.sendfile:
            return cpu.sendfile_ps_per_byte
        return cpu.file_read_ps_per_byte + cpu.send_ps_per_byte

    def _buses(self, host: str, bus: wire.Bus, size: int, copies: int) -> None:
        """A copy crosses the memory bus twice, a frame crosses both buses once."""
        for name, channels, rate, times in (
            ("memory bus", bus.memory_channels, bus.memory_channel_bps, 1 + 2 * copies),
            ("I/O bus", bus.io_channels, bus.io_channel_bps, 1),
        ):
            if rate is not None:
                self.seconds[host, name] += times * size * 8 / (channels * rate)

    def _uses_disk(self, disk: wire.Disk, size: int, *, sends: bool) -> bool:
        if not sends:
            return self.files.to_disk
        return self.files.from_disk or (self.files.from_cache and size > disk.page_cache_bytes)
