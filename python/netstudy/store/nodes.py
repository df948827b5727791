"""What the nodes of real testbeds ran on: captured when they are set up, before anything is timed.

A file an environment, `captures/nodes/<hash>.json`, which nodes share that are alike; their records
name it (`RecordNode.environment`). What the kernel said is kept as it was said; what changed
anything is kept as it was asked for, with the value before and after. Environment variables,
arguments of other programs and files of users are not read, so no secret gets here.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from netstudy.errors import StudyError
from netstudy.store.files import storage, write_atomic

NODES: Final = "nodes"
"""The folder of the environments, within that of the captures."""
NODE_SCHEMA: Final = "netstudy/node/1"
_DIGITS = 16
"""Of the SHA-256 that a file is named after."""


class _Captured(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tuning(_Captured):
    """Something that was changed, and how."""

    command: str
    """As it was carried out: a command of `ip` or `tc`, a write to a file of /proc/sys, a feature
    of `ethtool -K`. ADDRESS stands for that of each host."""
    before: str | None
    """The value before; None: there was none, such as of what the command makes."""
    after: str | None
    """The value as it was read afterwards; None: it could not be read."""
    alike: tuple[str, ...] = ()
    """Interfaces for which the same was done beside the one that the command names."""


class Interface(_Captured):
    """Interfaces that are alike but for their addresses."""

    names: tuple[str, ...]
    kind: str
    """As the kernel calls it: veth, bridge; ether for one of hardware."""
    driver: str
    """As `ethtool -i` has it, with its version where it has one."""
    mtu_bytes: int
    offloads: str
    """As `ethtool -k` prints them, of the first."""


class Machine(_Captured):
    """What all nodes on one machine share."""

    cpu: str | None
    cpus: int
    """CPUs that are online."""
    memory_bytes: int
    kernel: str
    """System, release and version, as `uname -srv` prints them."""
    sysctls: dict[str, str]
    """Settings of the network that no namespace has of its own, by name."""


class NodeEnvironment(_Captured):
    """What a node ran on, and what was done to it."""

    schema_: Literal["netstudy/node/1"] = NODE_SCHEMA
    machine: Machine
    cpus: float | None
    """CPUs that its processes may use."""
    interfaces: tuple[Interface, ...]
    qdiscs: str
    """What `tc -s -j qdisc show` printed."""
    sysctls: dict[str, str]
    """All of net.ipv4.tcp_* and net.core.* that the node has of its own, by name, after tuning."""
    tunings: tuple[Tuning, ...]
    """In the order in which they were carried out."""


def keep_node(captures: Path, environment: NodeEnvironment) -> str:
    """Write an environment, unless the same is there. The name by which records call it.

    Raises StudyError where that is impossible.
    """
    text = environment.model_dump_json(indent=1).encode() + b"\n"
    name = hashlib.sha256(text).hexdigest()[:_DIGITS]
    path = _path(captures, name)
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            write_atomic(path, text)
    return name


def read_node(captures: Path, name: str) -> NodeEnvironment:
    """The environment of that name. Raises StudyError when it is not there or not whole."""
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
