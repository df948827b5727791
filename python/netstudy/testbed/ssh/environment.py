"""The environment of a host of the user's, read through its session before anything is timed.

An ordinary user can read all of it without a program on the host. A value that the host does not
give is None or missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from netstudy.store.environment import cpu_model
from netstudy.store.nodes import Interface, Machine, NodeEnvironment
from netstudy.testbed.real import sysctls
from netstudy.testbed.ssh.host_wire import HelloRecord, HostInterface

_CPUS: Final = "/proc/cpuinfo"
_MEMORY: Final = "/proc/meminfo"
_KERNEL: Final = tuple(f"/proc/sys/kernel/{name}" for name in ("ostype", "osrelease", "version"))
_DRIVER: Final = "/sys/class/net/{device}/device/uevent"
_DRIVER_VERSION: Final = "/sys/class/net/{device}/device/driver/module/version"
_SYSCTLS: Final = tuple(f"{sysctls.FOLDER}/{pattern}" for pattern in sysctls.PATTERNS)


def files(devices: Collection[str]) -> list[str]:
    """The files that describe a host with these test interfaces, for HostSession.read."""
    of_devices = [one.format(device=name) for name in devices for one in (_DRIVER, _DRIVER_VERSION)]
    return [_CPUS, _MEMORY, *_KERNEL, *_SYSCTLS, *of_devices]


def environment(
    hello: HelloRecord, interfaces: Sequence[HostInterface], texts: Mapping[str, str]
) -> NodeEnvironment:
    """The environment of a host with these test interfaces and `files`."""
    return NodeEnvironment(
        machine=_machine(hello, texts),
        cpus=hello.cpus,
        interfaces=tuple(_interface(one, texts) for one in interfaces),
        qdiscs=json.dumps(
            [{"dev": one.device, "kind": kind} for one in interfaces for kind in one.qdiscs]
        ),
        sysctls=_sysctls(texts),
        tunings=(),
    )


def _machine(hello: HelloRecord, texts: Mapping[str, str]) -> Machine:
    cpus = texts.get(_CPUS, "")
    memory = re.search(r"^MemTotal:\s+(\d+) kB$", texts.get(_MEMORY, ""), re.MULTILINE)
    named = [texts[path].strip() for path in _KERNEL if path in texts]
    return Machine(
        cpu=cpu_model(cpus),
        cpus=len(re.findall(r"^processor\b", cpus, re.MULTILINE)) or None,
        memory_bytes=None if memory is None else 1_024 * int(memory[1]),
        kernel=" ".join(named) if len(named) == len(_KERNEL) else f"Linux {hello.kernel}",
        sysctls={},
    )


def _interface(one: HostInterface, texts: Mapping[str, str]) -> Interface:
    features = None
    if one.features is not None:
        features = "".join(f"{name}: {state}\n" for name, state in sorted(one.features.items()))
    return Interface(
        names=(one.device,),
        kind=one.kind,
        driver=_driver(one.device, texts),
        mtu_bytes=one.mtu,
        offloads=features,
    )


def _driver(device: str, texts: Mapping[str, str]) -> str | None:
    """The driver of hardware; a virtual interface has none, and its kind tells as much."""
    lines = texts.get(_DRIVER.format(device=device), "").splitlines()
    name = next(
        (line.removeprefix("DRIVER=") for line in lines if line.startswith("DRIVER=")), None
    )
    version = texts.get(_DRIVER_VERSION.format(device=device), "").strip()
    return None if name is None else f"{name} {version}".rstrip()


def _sysctls(texts: Mapping[str, str]) -> dict[str, str]:
    """The settings in these texts, without secrets."""
    found = {PurePosixPath(path): text for path, text in texts.items()}
    return dict(
        sysctls.setting(path, text)
        for path, text in sorted(found.items())
        if path.is_relative_to(sysctls.FOLDER) and not sysctls.is_secret(path)
    )
