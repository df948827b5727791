"""Makes the network of a layout in the sandbox, and removes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from netstudy import wire
from netstudy.errors import TestbedError
from netstudy.store.nodes import Tuning
from netstudy.testbed.netns import kernel_path, layout
from netstudy.testbed.netns.environment import Tuned, noted_batch
from netstudy.testbed.netns.layout import SWITCHES, Host, Layout
from netstudy.testbed.netns.namespaces import FOLDER, run_batch, within
from netstudy.testbed.netns.tuning import set_offloads, steer, steer_new

_SYSCTLS = Path("/proc/sys/net")


@contextmanager
def network(plan: Layout, tuned: Tuned | None = None) -> Iterator[None]:
    """Makes the network of a run, which exists while the block runs. May only be called inside a
    sandbox (see `sandbox.enter`). All processes in the network must have ended when the block ends.
    For each namespace that is a key of `tuned`, the changes made in it are added to `tuned`. Raises
    TestbedError with the command that failed.
    """
    with _written(_there(layout.NAMESPACES_TO_COME)) as of_all:
        try:
            _make(plan, of_all, tuned or {})
            yield
        finally:
            _remove(plan)


@contextmanager
def _written(values: Mapping[str, str]) -> Iterator[list[Tuning]]:
    """Write sysctls of this namespace, and restore them after the block. Yields the changes."""
    before = {name: (_SYSCTLS / name).read_text().strip() for name in values}
    try:
        yield write_sysctls(values)
    finally:
        write_sysctls(before)


def _make(plan: Layout, of_all: list[Tuning], tuned: Tuned) -> None:
    run_batch("ip", layout.make_namespaces(plan))
    for name, values in layout.sysctls(plan).items():
        with within(name):
            changed = [*of_all, *write_sysctls({**_there(layout.SWITCHED_OFF), **values})]
            if plan.receive_cpu is not None:
                changed += steer_new(plan.receive_cpu)
        tuned.get(name, []).extend(changed)
    run_batch("ip", layout.make_links(plan))
    if plan.switched:
        _make_switches(plan, tuned.get(SWITCHES))
    for host in plan.hosts:
        _make_host(host, plan, tuned.get(host.node))


def _make_switches(plan: Layout, tunings: list[Tuning] | None) -> None:
    with within(SWITCHES):
        _prepare({one.peer[1]: None for one in plan.switched}, plan, tunings)
        noted_batch("ip", layout.switch_commands(plan), tunings)
        noted_batch("bridge", layout.forwarding_commands(plan), tunings)
        if plan.switching == "kernel":
            noted_batch("tc", kernel_path.port_queues(plan), tunings)


def _make_host(host: Host, plan: Layout, tunings: list[Tuning] | None) -> None:
    with within(host.node):
        _prepare({one.device: one.nic for one in host.interfaces}, plan, tunings)
        noted_batch("ip", layout.host_commands(host, plan), tunings)
        for one in host.interfaces:
            if plan.is_shaped(one):
                noted_batch("tc", kernel_path.host_queue(one), tunings)


def _prepare(
    interfaces: Mapping[str, wire.Nic | None], plan: Layout, tunings: list[Tuning] | None
) -> None:
    changed = [
        one
        for interface, nic in interfaces.items()
        for one in set_offloads(interface, layout.offloads(nic))
    ]
    if plan.receive_cpu is not None:
        changed += steer(interfaces, plan.receive_cpu)
    if tunings is not None:
        tunings += changed


def write_sysctls(values: Mapping[str, str]) -> list[Tuning]:
    """Write files below /proc/sys/net in the namespace of the calling thread; returns the changes.

    Raises TestbedError for a sysctl or value that the kernel does not have.
    """
    return [_write_sysctl(name, value) for name, value in values.items()]


def _write_sysctl(name: str, value: str) -> Tuning:
    path, shown = _SYSCTLS / name, f"net.{name.replace('/', '.')}"
    try:
        before = path.read_text()
        path.write_text(value)
        after = path.read_text()
    except OSError as error:
        raise TestbedError(f"cannot set {shown} to {value}: {error.strerror}") from error
    command = f"sysctl -w {shown}={value}" if " " not in value else f'sysctl -w {shown}="{value}"'
    return Tuning(command=command, before=_words(before), after=_words(after))


def _words(text: str) -> str:
    """The value of a sysctl with single spaces between its words, where the kernel writes tabs."""
    return " ".join(text.split())


def _there(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if (_SYSCTLS / name).exists()}


def _remove(plan: Layout) -> None:
    """Remove the names of the namespaces. A namespace ends when it has neither a process nor a
    name."""
    there = {path.name for path in FOLDER.iterdir()}
    run_batch("ip", [f"netns delete {name}" for name in plan.namespaces if name in there])
