"""The TCP of a host's kernel against the TCP of a study.

A socket sets its own congestion control; everything else is the whole host's, which only root may
change. A setting that the study itself asks for, and that the host does not have, is refused with
the command that would set it. A setting that only a profile describes is a departure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from netstudy import wire
from netstudy.hardware import HardwareLibrary
from netstudy.knobs import knobs
from netstudy.plan import described_tcp

_NET: Final = "/proc/sys/net/"
_MIN_RTO_NS: Final = 200_000_000  # TCP_RTO_MIN, include/net/tcp.h
_MAX_RTO_NS: Final = 120_000_000_000  # TCP_RTO_MAX
_INITIAL_WINDOW: Final = 10  # TCP_INIT_CWND
_NO_METRICS: Final = "ipv4/tcp_no_metrics_save"
_CONTROLS: Final = ("ipv4/tcp_available_congestion_control", "ipv4/tcp_allowed_congestion_control")


@dataclass(frozen=True)
class _Sysctl:
    """A setting of TCP that is a file below /proc/sys/net."""

    file: str
    read: Callable[[str], Any]
    """The setting's value on the wire, from the text of the file."""
    write: Callable[[Any], str]
    """The value of the sysctl that sets it."""
    absent: Any = None
    """The value in a kernel without the file; None: not known."""


def _third(text: str) -> int:
    """The largest of the three sizes of a buffer."""
    return int(text.split()[2])


def _flag(on: bool) -> str:
    return str(int(on))


_SYSCTLS: Final[Mapping[str, _Sysctl]] = {
    "sack": _Sysctl("ipv4/tcp_sack", lambda text: int(text) > 0, _flag),
    "timestamps": _Sysctl("ipv4/tcp_timestamps", lambda text: int(text) > 0, _flag),
    # 2, the default, only accepts ECN that a peer requests.
    "ecn": _Sysctl("ipv4/tcp_ecn", lambda text: int(text) == 1, _flag),
    "rack": _Sysctl("ipv4/tcp_recovery", lambda text: bool(int(text) & 1), _flag),
    "tail_loss_probe": _Sysctl(
        "ipv4/tcp_early_retrans", lambda text: int(text) in (3, 4), lambda on: "3" if on else "0"
    ),
    "restart_after_idle": _Sysctl(
        "ipv4/tcp_slow_start_after_idle", lambda text: int(text) > 0, _flag
    ),
    "min_rto_ns": _Sysctl(
        "ipv4/tcp_rto_min_us",  # Linux 6.11
        lambda text: 1_000 * int(text),
        lambda value: str(value // 1_000),
        _MIN_RTO_NS,
    ),
    "max_rto_ns": _Sysctl(
        "ipv4/tcp_rto_max_ms",  # Linux 6.15
        lambda text: 1_000_000 * int(text),
        lambda value: str(value // 1_000_000),
        _MAX_RTO_NS,
    ),
    "send_buffer_bytes": _Sysctl("ipv4/tcp_wmem", _third, lambda value: f'"4096 16384 {value}"'),
    "receive_buffer_bytes": _Sysctl(
        "ipv4/tcp_rmem", _third, lambda value: f'"4096 131072 {value}"'
    ),
}
"""Setting on the wire -> its sysctl: Documentation/networking/ip-sysctl.rst."""

FILES: Final = tuple(
    _NET + name for name in (*(one.file for one in _SYSCTLS.values()), *_CONTROLS, _NO_METRICS)
)
"""The files of a host that say what its TCP is."""


@dataclass(frozen=True)
class Difference:
    """A setting that a host does not have as the study has it."""

    setting: str
    """As studies write it."""
    wanted: str
    there: str
    is_asked: bool
    """True if the study itself asks for this value; False if only a profile has it."""
    command: str | None
    """The command that sets it on the host; None: no sysctl of this kernel does."""

    def __str__(self) -> str:
        """For people."""
        return f"{self.setting} is {self.there}, not {self.wanted}"


def differences(
    group: wire.Group, files: Mapping[str, str], library: HardwareLibrary
) -> Iterator[Difference]:
    """How the TCP of a host differs from that of the group that it plays. `files` has the texts of
    `FILES`; settings that cannot be read are left out."""
    described = described_tcp(library, group) or group.tcp
    for wired, there in _there(files).items():
        wanted = getattr(group.tcp, wired)
        if there is None or wanted is None or wanted == there:
            continue
        if wired in ("rack", "tail_loss_probe") and not group.tcp.sack:
            continue  # without SACK, neither has an effect
        knob = next(one for one in knobs(wire.Tcp).values() if one.wired == wired)
        yield Difference(
            setting=knob.name,
            wanted=knob.shown(wanted),
            there=knob.shown(there),
            is_asked=wanted != getattr(described, wired),
            command=_command(wired, wanted, files),
        )


def _there(files: Mapping[str, str]) -> dict[str, Any]:
    """Setting on the wire -> the host's value; None: not known."""
    found = {
        wired: one.absent if text is None else one.read(text)
        for wired, one in _SYSCTLS.items()
        for text in (files.get(_NET + one.file),)
    }
    return {**found, "initial_window_segments": _INITIAL_WINDOW}


def _command(wired: str, wanted: Any, files: Mapping[str, str]) -> str | None:
    one = _SYSCTLS.get(wired)
    if one is None or _NET + one.file not in files:
        return None
    return f"sudo sysctl net.{one.file.replace('/', '.')}={one.write(wanted)}"


def keeps_metrics(files: Mapping[str, str]) -> bool:
    """True if a connection inherits ssthresh and round-trip times from earlier ones to the same
    peer, so that runs are not independent."""
    return files.get(_NET + _NO_METRICS, "").strip() == "0"


FORGET_METRICS: Final = f"sudo sysctl net.{_NO_METRICS.replace('/', '.')}=1"
"""The command that makes connections independent of earlier ones."""


def congestion_controls(files: Mapping[str, str]) -> tuple[frozenset[str], frozenset[str]]:
    """The congestion controls that the kernel has loaded, and the ones among them that ordinary
    users may choose."""
    available, allowed = (frozenset(files.get(_NET + name, "").split()) for name in _CONTROLS)
    return available, allowed
