"""Makes the network that a layout describes, in the sandbox, and takes it away again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from netstudy.errors import TestbedError
from netstudy.testbed.netns import kernel_path, layout
from netstudy.testbed.netns.layout import SWITCHES, Host, Layout
from netstudy.testbed.netns.namespaces import FOLDER, namespace, within
from netstudy.testbed.netns.offloads import set_offloads
from netstudy.testbed.netns.programs import program, run_batch
from netstudy.testbed.netns.steering import steer, steer_new

_SYSCTLS = Path("/proc/sys/net")


@contextmanager
def network(plan: Layout) -> Iterator[None]:
    """The network of a run, for the block. Only inside a sandbox (see `sandbox.enter`).

    All processes in it must have ended when the block ends. Raises TestbedError with the command
    that failed.
    """
    try:
        _make(plan)
        yield
    finally:
        _remove(plan)


def in_namespace(name: str) -> list[str]:
    """The words to put before a command that is to run in a namespace.

    Not `ip netns exec`, which puts a new /sys over the control groups.
    """
    return [program("nsenter"), f"--net={namespace(name)}", "--"]


def _make(plan: Layout) -> None:
    write_sysctls(_there(layout.NAMESPACES_TO_COME))
    run_batch("ip", layout.make_namespaces(plan))
    for name, values in layout.sysctls(plan).items():
        with within(name):
            write_sysctls({**_there(layout.SWITCHED_OFF), **values})
            if plan.receive_cpu is not None:
                steer_new(plan.receive_cpu)
    run_batch("ip", layout.make_links(plan))
    if plan.switched:
        _make_switches(plan)
    for host in plan.hosts:
        _make_host(host, plan)


def _make_switches(plan: Layout) -> None:
    with within(SWITCHES):
        _prepare([one.peer[1] for one in plan.switched], plan)
        run_batch("ip", layout.switch_commands(plan))
        run_batch("bridge", layout.forwarding_commands(plan))
        if plan.switching == "kernel":
            run_batch("tc", kernel_path.port_queues(plan))


def _make_host(host: Host, plan: Layout) -> None:
    with within(host.node):
        _prepare([one.device for one in host.interfaces], plan)
        run_batch("ip", layout.host_commands(host, plan))
        for one in host.interfaces:
            if plan.is_shaped(one):
                run_batch("tc", kernel_path.host_queue(one))


def _prepare(interfaces: list[str], plan: Layout) -> None:
    for interface in interfaces:
        set_offloads(interface, layout.OFFLOADS_OFF)
    if plan.receive_cpu is not None:
        steer(interfaces, plan.receive_cpu)


def write_sysctls(values: Mapping[str, str]) -> None:
    """Write files below /proc/sys/net for the namespace that the calling thread is in.

    Raises TestbedError for one that the kernel does not have or does not take.
    """
    for name, value in values.items():
        try:
            (_SYSCTLS / name).write_text(value)
        except OSError as error:
            raise TestbedError(
                f"cannot set net.{name.replace('/', '.')} to {value}: {error.strerror}"
            ) from error


def _there(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if (_SYSCTLS / name).exists()}


def _remove(plan: Layout) -> None:
    """Remove the names that there are; a namespace ends with its last process and name."""
    there = {path.name for path in FOLDER.iterdir()}
    run_batch("ip", [f"netns delete {name}" for name in plan.namespaces if name in there])
