"""Copies the engine to a host, once: its name there holds the hash of its content."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from netstudy.errors import TestbedError
from netstudy.inventory import HostEntry
from netstudy.testbed.ssh import remote
from netstudy.testbed.ssh.connect import Master
from netstudy.testbed.ssh.engines import Engine, engine_for
from netstudy.units import rough_size

_FREE: Final = re.compile(r"free .*?\s\d+\s+\d+\s+(\d+)\s+\d+%\s")
"""The line of df(1): size, used and free space in blocks of 1,024 bytes."""


@dataclass(frozen=True)
class Probed:
    """A host before the engine is there."""

    architecture: str
    engines: frozenset[str]
    """Hashes of the engines in the engine folder."""
    free_bytes: tuple[int, int] | None
    """Free space for the engine folder and for the folder of files."""
    printed: tuple[str, ...]
    """Lines that the log-in scripts of the user printed."""


def nonce() -> str:
    """A random word that no log-in script prints."""
    return secrets.token_hex(8)


async def probe(master: Master, entry: HostEntry) -> Probed:
    """Look at the host. Raises TestbedError if it does not run commands."""
    word = nonce()
    done = await master.run(remote.probe(word, entry.engine, entry.files))
    said = remote.after_nonce(done.out, word)
    if not said.lines:
        raise TestbedError(not_begun(master, said.before, done.errors))
    return probed(said.lines, said.before)


def probed(lines: Sequence[str], printed: tuple[str, ...]) -> Probed:
    """The host as the lines of `remote.PROBE` describe it."""
    free = tuple(int(match[1]) * 1_024 for line in lines if (match := _FREE.match(line)))
    found = (re.fullmatch(r"([0-9a-f]{64}) .engine-\1", line) for line in lines)
    return Probed(
        architecture=lines[0],
        engines=frozenset(match[1] for match in found if match),
        free_bytes=(free[0], free[1]) if len(free) == 2 else None,
        printed=printed,
    )


def not_begun(master: Master, before: Sequence[str], errors: str) -> str:
    """Why a command did not begin on a host that lets us log in."""
    said = [*before, *errors.strip().splitlines()]
    if any("session request failed" in line for line in said):
        return (
            f"{master.host}: its sshd allows no session more; raise MaxSessions in its "
            "sshd_config, or leave MaxSessions out there"
        )
    shown = "; ".join(said[-3:]) or "nothing"
    return (
        f"{master.host}: {master.destination} lets us log in, but runs no command; it said: {shown}"
    )


async def deploy(
    master: Master,
    entry: HostEntry,
    found: Probed,
    choose: Callable[[str], Engine] = engine_for,
) -> str:
    """Copy the engine for the host's architecture unless it is there. Returns its path on the host.
    Raises TestbedError if there is no such engine, or if it cannot be copied."""
    try:
        engine = choose(found.architecture)
    except TestbedError as error:
        raise TestbedError(f"{master.host}: {error}") from error
    if engine.sha256 not in found.engines:
        await _copy(master, entry, engine)
    return remote.engine_path(entry.engine, engine.sha256)


async def _copy(master: Master, entry: HostEntry, engine: Engine) -> None:
    word = nonce()
    binary = engine.read()
    done = await master.run(remote.copy(word, entry.engine, engine.sha256), binary)
    said = remote.after_nonce(done.out, word)
    if said.lines is None:
        raise TestbedError(not_begun(master, said.before, done.errors))
    if said.lines != ("copied",):
        errors = done.errors or ended_early(said.lines)
        raise TestbedError(not_copied(master.host, entry.engine, len(binary), errors))


def ended_early(lines: Sequence[str]) -> str:
    """Why a copy failed without an error message; empty: its command has compared the bytes."""
    return "" if lines else "the connection ended before the copy did"


def not_copied(host: str, folder: str, size: int, errors: str) -> str:
    """Why an engine was not copied, from the messages of the host's programs."""
    where = f"{host}: the engine ({rough_size(size)}) cannot be copied into {folder}: "
    other = "name another folder with engine: of this host"
    for pattern, cause in (
        ("No space left", f"the disk is full; free some space, or {other}"),
        ("quota exceeded", f"the disk quota is used up; free some space, or {other}"),
        ("Read-only file system", f"the file system is read-only; {other}"),
        ("Permission denied", f"the user may not write there; {other}"),
        ("Not a directory", f"a file stands where a folder must be; {other}"),
        ("sha256sum: *(command )?not found", "the host has no sha256sum; install coreutils"),
    ):
        if re.search(pattern, errors):
            return where + cause
    said = "; ".join(errors.strip().splitlines()[-3:])
    return where + (said or "the bytes that arrived differ from those sent")


async def remove(master: Master, entry: HostEntry) -> list[str]:
    """Remove the engines from a host. Returns their names."""
    word = nonce()
    done = await master.run(remote.remove(word, entry.engine))
    said = remote.after_nonce(done.out, word)
    if said.lines is None:
        raise TestbedError(not_begun(master, said.before, done.errors))
    return [line.removeprefix("removed ") for line in said.lines if line.startswith("removed ")]


def not_run(host: str, engine: str, errors: str) -> str:
    """Why the engine did not begin its session, from what the host's shell or kernel said."""
    folder, _, _ = engine.rpartition("/")
    for pattern, cause in (
        (
            "Permission denied",
            f"programs in {folder} may not be run there (a mount with noexec?); name another "
            "folder with engine: of this host",
        ),
        ("Exec format error|cannot execute binary", "its architecture is not that of the engine"),
        (
            "GLIBC_|required file not found|not found|No such file",
            "this machine's engine does not run there; `make engine-static` makes one that runs on "
            "every Linux",
        ),
    ):
        if re.search(pattern, errors):
            said = errors.strip().splitlines()[-1]
            return f"{host}: {cause} ({said})"
    said = "; ".join(errors.strip().splitlines()[-3:]) or "nothing"
    return f"{host}: the engine did not start; the host said: {said}"
