"""Every value that a plan sets, by its path: what the configuration of two runs is compared by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netstudy.wire import Run

Settings = dict[str, Any]


def flat(value: Any, path: str = "") -> Settings:
    """Nested settings as path -> value."""
    if isinstance(value, Mapping):
        found: Settings = {}
        for key, inner in value.items():
            found |= flat(inner, f"{path}.{key}" if path else str(key))
        return found
    return {path: value}


def settings_of(run: Run) -> Settings:
    """The settings of a run's switch, hosts, links and workload, under their names."""
    network = run.network
    hosts = {host.name: host.model_dump() for host in network.hosts}
    links = {f"link {link.between[0]}": link.model_dump() for link in network.links}
    parts = {"switch": network.switch.model_dump(), **hosts, **links}
    return flat({**parts, "workload": run.workload.model_dump()})
