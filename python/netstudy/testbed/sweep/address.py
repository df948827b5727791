"""The value of `--on`: `dask:local`, `dask:local:N`, or `dask:ADDRESS` of a scheduler."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

from netstudy.errors import StudyError
from netstudy.store.environment import cores

OPTION = "--on"
TRUST_OPTION = "--trust-network"
_PREFIX, _LOCAL = "dask:", "local"
_ENCRYPTED: Final = ("tls", "wss")
_PLAIN: Final = ("tcp", "ws")
_ADDRESS = re.compile(
    r"(?:(?P<scheme>[a-z]+)://)?(?P<host>\[[0-9a-fA-F:.]+\]|[^:/\[\]]+):(?P<port>\d+)"
)
_FORMS = (
    "write dask:local, dask:local:N for N worker processes, or dask:ADDRESS with the scheduler's "
    "address, such as dask:tls://10.0.0.5:8786"
)


@dataclass(frozen=True)
class Local:
    """A cluster of this machine's own, made for one command."""

    workers: int
    """Number of worker processes, each of which executes one run at a time."""

    def __str__(self) -> str:
        return f"{_PREFIX}{_LOCAL}:{self.workers}"


@dataclass(frozen=True)
class Scheduler:
    """A cluster that is there already."""

    address: str
    """With its scheme, such as `tls://10.0.0.5:8786`."""
    is_encrypted: bool
    is_loopback: bool

    def __str__(self) -> str:
        return f"{_PREFIX}{self.address}"


Where = Local | Scheduler


def parse_on(option: str) -> Where:
    """The cluster that `--on` names. Raises StudyError."""
    if not option.startswith(_PREFIX):
        raise StudyError(f"'{option}' names no cluster; {_FORMS}", OPTION)
    name, colon, count = option.removeprefix(_PREFIX).partition(":")
    if name == _LOCAL and not count.startswith("//"):
        if not colon:
            return Local(cores())
        if not count.isdecimal() or int(count) == 0:
            raise StudyError(f"'{count}' is not a number of worker processes; {_FORMS}", OPTION)
        return Local(int(count))
    return _scheduler(option.removeprefix(_PREFIX))


def _scheduler(text: str) -> Scheduler:
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise StudyError(f"'{text}' is not the address of a scheduler; {_FORMS}", OPTION)
    scheme = found["scheme"] or "tcp"  # as dask reads it
    if scheme not in (*_ENCRYPTED, *_PLAIN):
        known = ", ".join((*_ENCRYPTED, *_PLAIN))
        raise StudyError(f"'{scheme}' is not a known way to a scheduler; there are {known}", OPTION)
    return Scheduler(
        address=f"{scheme}://{found['host']}:{found['port']}",
        is_encrypted=scheme in _ENCRYPTED,
        is_loopback=_is_loopback(found["host"].strip("[]")),
    )


def _is_loopback(host: str) -> bool:
    """True if the address cannot be of another machine. Only `localhost` is trusted as a name,
    since other names may change their address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_plain(where: Where, *, trusts_network: bool) -> None:
    """Raises StudyError for a scheduler that anybody on the network can use, unless the user trusts
    everybody there."""
    if isinstance(where, Local) or where.is_encrypted or where.is_loopback or trusts_network:
        return
    raise StudyError(
        f"{where.address} is not encrypted: whoever reaches its port can run programs as you on "
        "its workers, and change results on their way. Start the cluster with TLS and give its "
        f"tls:// address, or say {TRUST_OPTION} if you trust everybody on that network",
        OPTION,
    )


def plain_warning(where: Where) -> str | None:
    """A warning about a cluster without TLS; None if there is nothing to warn about."""
    if isinstance(where, Local) or where.is_encrypted:
        return None
    who = "every user of this machine" if where.is_loopback else "whoever reaches its port"
    return f"{where.address} is not encrypted: {who} can run programs as you on its workers"
