"""Tests of what a machine, or the user who tests, may not have."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from netstudy.errors import TestbedError
from netstudy.testbed.netns.database import server_programs
from netstudy.testbed.netns.namespaces import PACKAGES, find_program
from netstudy.testbed.netns.sandbox import may_make_namespaces

in_namespaces = pytest.mark.skipif(
    not may_make_namespaces(),
    reason="needs root, with the right to make namespaces (CAP_SYS_ADMIN, CAP_NET_ADMIN)",
)
"""A test that makes namespaces."""


with_database = pytest.mark.skipif(
    server_programs() is None,
    reason="needs a server of PostgreSQL; install: apt-get install postgresql",
)
"""A test that starts a database."""

_PACKAGES = {
    **PACKAGES,
    "busybox": "busybox-static",
    "curl": "curl",
    "iperf3": "iperf3",
    "netperf": "netperf",
    "netstat": "net-tools",
    "nft": "nftables",
    "nginx": "nginx-light",
    "qemu-aarch64": "qemu-user",
    "qemu-system-x86_64": "qemu-system-x86",
    "nstat": "iproute2",
    "ping": "iputils-ping",
    "sadf": "sysstat",
    "qemu-x86_64": "qemu-user",
    "snmpbulkwalk": "snmp",
    "snmpd": "snmpd",
    "ss": "iproute2",
    "ssh": "openssh-client",
    "sshd": "openssh-server",
    "tc": "iproute2",
    "vsftpd": "vsftpd",
    "wrk": "wrk",
}


def needs_programs(*names: str) -> pytest.MarkDecorator:
    """A test that needs each of these programs."""
    packages = {name: _PACKAGES[name] for name in names}
    lacking = [name for name in names if find_program(name) is None]
    install = " ".join(dict.fromkeys(packages[name] for name in lacking))
    return pytest.mark.skipif(
        bool(lacking), reason=f"needs {', '.join(lacking)}; install: apt-get install {install}"
    )


def needs_root(why: str) -> pytest.MarkDecorator:
    """A test that only root can carry out."""
    return pytest.mark.skipif(os.geteuid() != 0, reason=f"needs root: {why}")


@contextmanager
def or_skip() -> Iterator[None]:
    """Skips the test when a testbed cannot do what the block asks for, with the reason."""
    try:
        yield
    except TestbedError as error:
        pytest.skip(str(error))
