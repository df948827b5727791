"""Environments of the nodes of real testbeds: captured at set-up, before anything is timed.

An environment is stored in a file, `captures/nodes/<hash>.json`, which equal nodes share; records
refer to it in `RecordNode.environment`. Output of the kernel is stored unchanged; changes are
stored as commands, with the value before and after. Environment variables, arguments of other
programs and users' files are not read, so that no secret gets into the file.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from netstudy.errors import StudyError
from netstudy.store.files import storage, write_atomic

NODES: Final = "nodes"
"""The folder of the environments, inside the captures folder."""
HARDWARE: Final = "ether"
"""The kind of an interface that is hardware."""
NODE_SCHEMA: Final = "netstudy/node/1"
_DIGITS = 16
"""Number of digits of the SHA-256 in a file's name."""


class _Captured(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tuning(_Captured):
    """A change of a setting, with the values before and after."""

    command: str
    """The command that made the change, or one with the same effect, such as `ip`, `tc`, `sysctl`
    or `ethtool -K`. ADDRESS stands for the address of each host."""
    before: str | None
    """The value before; None: there was none, since the command created the object."""
    after: str | None
    """The value read afterwards; None: it could not be read."""
    alike: tuple[str, ...] = ()
    """Other interfaces that were changed in the same way as the one in the command."""


class Interface(_Captured):
    """Interfaces that are equal apart from their addresses."""

    names: tuple[str, ...]
    kind: str
    """The kernel's name for the kind of interface: veth, bridge; ether for hardware."""
    driver: str | None
    """Name of the driver as `ethtool -i` reports it, with the version if there is one; None: not
    known."""
    mtu_bytes: int
    offloads: str | None
    """Output of `ethtool -k` for the first of the interfaces; None: not known."""


class Machine(_Captured):
    """Properties that all nodes on one machine share."""

    cpu: str | None
    cpus: int | None
    """Number of CPUs that are online; None: not known."""
    memory_bytes: int | None
    """None: not known."""
    kernel: str
    """System, release and version, as `uname -srv` prints them."""
    sysctls: dict[str, str]
    """Network settings that all namespaces share, by name; empty for a host of the user's, whose
    settings are all its own."""


class NodeEnvironment(_Captured):
    """Hardware, software and settings of a node."""

    schema_: Literal["netstudy/node/1"] = NODE_SCHEMA
    machine: Machine
    cpus: float | None
    """Number of CPUs that the node's processes may use."""
    interfaces: tuple[Interface, ...]
    qdiscs: str
    """Output of `tc -s -j qdisc show`; for a host of the user's, only `dev` and `kind`."""
    sysctls: dict[str, str]
    """The node's own settings net.ipv4.tcp_* and net.core.*, by name, after tuning."""
    tunings: tuple[Tuning, ...]
    """Changes in the order in which they were made."""


def keep_node(captures: Path, environment: NodeEnvironment) -> str:
    """Write an environment, unless an equal one exists; returns the name by which records refer to
    it.

    Raises StudyError when it cannot be written.
    """
    text = environment.model_dump_json(indent=1).encode() + b"\n"
    name = hashlib.sha256(text).hexdigest()[:_DIGITS]
    path = _path(captures, name)
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            write_atomic(path, text, within=captures.parent)
    return name


def read_node(captures: Path, name: str) -> NodeEnvironment:
    """The environment with this name. Raises StudyError when it is missing or damaged."""
    path = _path(captures, name)
    try:
        return NodeEnvironment.model_validate_json(path.read_bytes())
    except OSError as error:
        raise StudyError(f"cannot read {path}: {error.strerror}") from error
    except ValidationError as error:
        raise StudyError(
            f"{path} is damaged, or was written by another version of netstudy"
        ) from error


def _path(captures: Path, name: str) -> Path:
    return captures / NODES / f"{name}.json"
