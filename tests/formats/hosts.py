"""Readings of hosts for tests: shorter ways to say which value is meant."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from netstudy.formats.measured import Counters, Format, HostReadings, Series
from netstudy.testbed.netns.namespaces import find_program
from tests.formats.samples import DATA

HOST = DATA / "host"
"""Files of one host while iperf3 sent 2 Gbit/s over loopback."""


def read(form: Format, text: str | bytes) -> HostReadings:
    """The readings of a host in a text; the format must recognise it."""
    data = text if isinstance(text, bytes) else text.encode()
    assert form.recognises(data[:65_536])
    content = form.read(data)
    assert isinstance(content, HostReadings)
    return content


def series(readings: HostReadings, part: str = "") -> Series:
    """The only series of a part."""
    (found,) = (each for each in readings.series if each.part == part)
    return found


def values(readings: HostReadings, name: str, part: str = "") -> list[float]:
    """A quantity of a part in each interval."""
    found: list[float] = series(readings, part).values[name].tolist()
    return found


def counted(readings: HostReadings, part: str = "") -> Mapping[str, int]:
    """The counters of the only reading of a part."""
    return of_part(readings, part)[0].values


def of_part(readings: HostReadings, part: str = "") -> list[Counters]:
    """All readings of a part."""
    found = [each for each in readings.counters if each.part == part]
    assert found
    return found


def at(text: str) -> float:
    """Seconds since 1970 of a time in UTC: `2026-11-29 11:55:44`."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def run(*command: str | Path, **environment: str) -> bytes:
    """The output of a tool."""
    path = find_program(str(command[0]))
    assert path is not None, f"{command[0]} is not installed"
    done = subprocess.run(
        [path, *command[1:]], env={"LC_ALL": "C", **environment}, capture_output=True, check=True
    )
    return done.stdout


def in_namespace(script: str) -> str:
    """The output of a shell script in a network namespace of its own, with loopback. What the
    script leaves running ends with it."""
    lines = (
        f"set -e\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C\nip link set lo up\n{script}"
    )
    command = [
        "unshare",
        "--net",
        "--map-root-user",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]
    done = subprocess.run(
        [*command, "sh", "-c", lines], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
