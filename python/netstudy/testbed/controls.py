"""The congestion controls that the hosts of a plan ask for."""

from __future__ import annotations

from collections.abc import Mapping

from netstudy.documents.problems import listed
from netstudy.wire import Plan, Tcp


def asking(plan: Plan) -> Mapping[str, tuple[Tcp, str]]:
    """Congestion control -> a TCP that has it, and the hosts that ask for it, as the start of a
    sentence: "Hosts client and server ask"."""
    tcps: dict[str, Tcp] = {}
    hosts: dict[str, dict[str, None]] = {}
    for group in (group for run in plan.runs for group in run.network.groups):
        control = group.tcp.congestion_control
        tcps.setdefault(control, group.tcp)
        hosts.setdefault(control, {})[group.name] = None
    return {control: (tcp, _ask([*hosts[control]])) for control, tcp in tcps.items()}


def _ask(names: list[str]) -> str:
    return f"Host {names[0]} asks" if len(names) == 1 else f"Hosts {listed(names)} ask"
