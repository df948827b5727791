"""Converts a study's TCP to settings of this machine's kernel, and lists the differences that
remain.

Sources: Documentation/networking/ip-sysctl.rst and net/ipv4 of the kernel; ip-route(8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from netstudy.testbed.netns.kernel import Kernel
from netstudy.testbed.real.kernel_tcp import (
    BURST_MAX_BYTES,
    ack_departures,
    control_name,
    initial_rto_departures,
    milliseconds,
    offload_departures,
    recovery_departures,
    rule_departures,
)
from netstudy.units import payload_bytes
from netstudy.wire import Tcp

_MAX_RTO_NS = 120_000_000_000  # TCP_RTO_MAX
_RTO_MAX_MS = "ipv4/tcp_rto_max_ms"  # Linux 6.15
_NEEDLESS = "ipv4/tcp_no_ssthresh_metrics_save"
"""In a kernel without this setting, tcp_no_metrics_save has the same effect by itself
(tcp_update_metrics, net/ipv4/tcp_metrics.c)."""
_LIMIT_OUTPUT_MAX_BYTES = 1_073_741_824
"""A value for `tcp_limit_output_bytes` that is effectively no limit: no pacing rate needs so many
bytes."""


@dataclass(frozen=True)
class KernelTcp:
    """The TCP of one host, as settings of the host's namespace, routes and sockets."""

    sysctls: Mapping[str, str]
    """File below /proc/sys/net -> text."""
    route: str
    """Attributes of the route to the other hosts, as `ip route` takes them."""
    congestion_control: str
    """Set on each socket (TCP_CONGESTION), because in a namespace the sysctl refuses some
    congestion controls."""
    nodelay: bool
    """Set on each socket (TCP_NODELAY)."""
    burst_bytes: int
    """Largest burst that TCP hands over to be cut into frames; 0: single frames."""


def kernel_tcp(tcp: Tcp, mtu_bytes: int, kernel: Kernel) -> KernelTcp:
    """The closest settings that this kernel has for a study's TCP; `departures` lists the
    differences."""
    wanted = _sysctls(tcp)
    return KernelTcp(
        sysctls={name: value for name, value in wanted.items() if name in kernel.sysctls},
        route=_route(tcp, mtu_bytes),
        congestion_control=_congestion_control(tcp, kernel),
        nodelay=tcp.nodelay,
        burst_bytes=min(tcp.offload_burst_bytes, BURST_MAX_BYTES),
    )


def _congestion_control(tcp: Tcp, kernel: Kernel) -> str:
    named = control_name(tcp)
    return named if named in kernel.congestion_controls else "reno"


def _sysctls(tcp: Tcp) -> dict[str, str]:
    return {
        "ipv4/tcp_sack": _flag(tcp.sack),
        "ipv4/tcp_dsack": _flag(tcp.sack),
        "ipv4/tcp_timestamps": _flag(tcp.timestamps),
        "ipv4/tcp_ecn": _flag(tcp.ecn or tcp.congestion_control == "dctcp"),
        "ipv4/tcp_recovery": _flag(tcp.sack and tcp.rack),
        "ipv4/tcp_early_retrans": "3" if tcp.sack and tcp.tail_loss_probe else "0",
        "ipv4/tcp_slow_start_after_idle": _flag(tcp.restart_after_idle),
        # Runs must be independent: a connection must not inherit metrics from an earlier one.
        "ipv4/tcp_no_metrics_save": "1",
        _NEEDLESS: "1",
        _RTO_MAX_MS: str(_rto_max_ms(tcp)),
        "ipv4/tcp_rmem": _memory(131_072, tcp.receive_buffer_bytes),
        "ipv4/tcp_wmem": _memory(16_384, tcp.send_buffer_bytes),
        "ipv4/tcp_limit_output_bytes": str(tcp.limit_output_bytes or _LIMIT_OUTPUT_MAX_BYTES),
    }


def _flag(on: bool) -> str:
    return str(int(on))


def _memory(usual_bytes: int, most_bytes: int) -> str:
    """Minimum, initial and maximum bytes of a buffer. The initial size is Linux's default, unless
    that exceeds the maximum."""
    return f"{min(4096, most_bytes)} {min(usual_bytes, most_bytes)} {most_bytes}"


def _rto_max_ms(tcp: Tcp) -> int:
    """The maximum RTO, cut to the range from 1 to 120 s that the kernel accepts."""
    return min(max(tcp.max_rto_ns // 1_000_000, 1_000), 120_000)


def _route(tcp: Tcp, mtu_bytes: int) -> str:
    window = tcp.initial_window_segments or _rfc_3390_segments(tcp, mtu_bytes)
    return f"rto_min {_rto_min_ms(tcp)}ms initcwnd {window}"


def _rto_min_ms(tcp: Tcp) -> int:
    """The minimum RTO in whole milliseconds, the finest unit of a route."""
    return max(-(-tcp.min_rto_ns // 1_000_000), 1)


def _rfc_3390_segments(tcp: Tcp, mtu_bytes: int) -> int:
    """RFC 3390 (1): min(4 MSS, max(2 MSS, 4380 bytes)), in segments."""
    segment = payload_bytes(mtu_bytes, timestamps=tcp.timestamps)
    return min(4, max(2, 4380 // segment))


def departures(tcp: Tcp, kernel: Kernel) -> list[str]:
    """Differences between this kernel's TCP and the study's, one sentence each; empty if there are
    none."""
    return [
        *_control_departures(tcp, kernel),
        *recovery_departures(tcp, kernel),
        *_timer_departures(tcp, kernel),
        *ack_departures(tcp),
        *offload_departures(tcp),
        *_output_departures(tcp),
        *_absent_settings(tcp, kernel),
    ]


def missing_control(tcp: Tcp, kernel: Kernel) -> str | None:
    """An error message if sockets on this machine lack the study's congestion control; None if they
    have it."""
    named = control_name(tcp)
    if named in kernel.congestion_controls:
        return None
    available = ", ".join(sorted(kernel.congestion_controls))
    return f"{kernel.name} has no {named} here; it has {available}."


def _control_departures(tcp: Tcp, kernel: Kernel) -> Iterator[str]:
    wanted = tcp.congestion_control
    if wanted == "reno-ack-counting":
        yield f"{kernel.name} has no {wanted}: its reno counts acknowledged bytes."
    elif control_name(tcp) == "cubic" and kernel.hystart != (wanted == "cubic-hystart"):
        state, other = ("on", "cubic-hystart") if kernel.hystart else ("off", "cubic")
        yield (
            f"HyStart is {state} for the whole machine, so its cubic is {other}, not {wanted} "
            "(/sys/module/tcp_cubic/parameters/hystart)."
        )


def _timer_departures(tcp: Tcp, kernel: Kernel) -> Iterator[str]:
    yield from rule_departures(tcp, kernel)
    if tcp.clock_tick_ns != kernel.tick_ns:
        yield (
            f"The retransmission clock has a tick of {milliseconds(kernel.tick_ns)} here, "
            f"not {milliseconds(tcp.clock_tick_ns)}."
        )
    yield from _min_rto_departures(tcp, kernel)
    yield from initial_rto_departures(tcp, kernel)
    yield from _max_rto_departures(tcp, kernel)


def _min_rto_departures(tcp: Tcp, kernel: Kernel) -> Iterator[str]:
    if tcp.min_rto_ns < kernel.tick_ns:
        yield (
            f"A minimum timeout of {milliseconds(tcp.min_rto_ns)} is rounded up to a tick of "
            f"{milliseconds(kernel.tick_ns)}; timeouts take up to two ticks more."
        )
    elif tcp.min_rto_ns % 1_000_000:
        wanted = milliseconds(tcp.min_rto_ns)
        yield f"A minimum timeout of {wanted} is set as {_rto_min_ms(tcp)} ms."


def _max_rto_departures(tcp: Tcp, kernel: Kernel) -> Iterator[str]:
    settable = _RTO_MAX_MS in kernel.sysctls
    got = _rto_max_ms(tcp) * 1_000_000 if settable else _MAX_RTO_NS
    if got != tcp.max_rto_ns:
        wanted = milliseconds(tcp.max_rto_ns)
        yield f"{kernel.name} has a largest timeout of {milliseconds(got)}, not {wanted}."


def _output_departures(tcp: Tcp) -> Iterator[str]:
    if not tcp.limit_output_bytes:
        yield (
            "Linux holds a connection back while a millisecond of its own data, or two packets, "
            "wait in its host."
        )


def _absent_settings(tcp: Tcp, kernel: Kernel) -> Iterator[str]:
    """Settings that this kernel lacks, except the maximum RTO, which `_max_rto_departures`
    reports."""
    for name, value in _sysctls(tcp).items():
        if name not in kernel.sysctls | {_RTO_MAX_MS, _NEEDLESS}:
            yield (
                f"{kernel.name} has no net.{name.replace('/', '.')} that can be set here: it stays "
                f"as it is, and is not set to {value}."
            )
