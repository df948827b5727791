"""Processes of this machine, as /proc shows them."""

from __future__ import annotations

from pathlib import Path


def descendants(pid: int) -> list[int]:
    """The processes below one, nearest first."""
    found = [pid]
    for parent in found:
        found += [child for child in all_processes() if status(child, "PPid") == str(parent)]
    return found[1:]


def all_processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def status(pid: int, field: str) -> str | None:
    """A field of /proc/…/status; None when there is no such process."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return next(line.split()[1] for line in lines if line.startswith(f"{field}:"))


def namespaces_of(pids: list[int]) -> set[int]:
    """The network namespaces that processes are in, by inode."""
    found = set()
    for pid in pids:
        try:
            found.add(Path(f"/proc/{pid}/ns/net").stat().st_ino)
        except OSError:
            continue
    return found
