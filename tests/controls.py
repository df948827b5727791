"""A study with a congestion control that only some testbeds have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

STUDY = """\
study: controls
question: Which congestion control gets more?
factors: {control: [CONTROL], flows: [1, 2]}
topology:
  hosts:
    client: {profile: host-1g, tcp: {congestion_control: "${control}"}}
    server: {profile: host-1g, tcp: {congestion_control: "${control}"}}
  links: [{between: [client, server], rate: 100 Mbit/s, delay: 5 ms}]
workload: {transfer: {direction: get, flows: "${flows}"}}
procedure: {warmup: 1 s, measure: 2 s}
replicates: 2
"""
Write = Callable[[str], Path]


def written_with(folder: Path) -> Write:
    """Writes the study with one congestion control into this folder."""

    def write(control: str) -> Path:
        path = folder / "study.yaml"
        path.write_text(STUDY.replace("CONTROL", control))
        return path

    return write
