"""`netstudy run` on a real testbed as a process of its own, with what it starts and leaves."""

from __future__ import annotations

import gzip
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from netstudy.cli._prepare import Asked, prepare
from netstudy.cli.run import new_folder
from netstudy.store import Folder
from netstudy.testbed.netns.sandbox import sandbox_command
from tests.testbed.conftest import CHECKOUT
from tests.testbed.processes import all_processes, descendants, namespaces_of

STUDY = """\
study: tiny
question: Does a run with real sockets come to its end?
factors:
  servers: [{servers}]
topology:
  switch: {{profile: generic-shallow, latency: 0 ns}}
  client: {{profile: host-1g, tcp: {{profile: linux-6}}}}
  server: {{profile: host-1g, tcp: {{profile: linux-6}}, count: "${{servers}}"}}
  link: {{rate: 100 Mbit/s, delay: 0 ns, mtu: 1500 B}}
workload:
  incast: {{block: 32 kB, iterations: {iterations}, warmup: {warmup}}}
"""
TIME_LIMIT_S = 60.0
_LOCAL = re.compile(r"\|-- (10\.77\.\d+\.\d+)\s+/32 host LOCAL")
FoundT = TypeVar("FoundT")


def study_text(servers: str = "2", *, iterations: int = 3, warmup: int = 1) -> str:
    """A study of one run for each number of servers; an iteration with two takes 6 ms."""
    return STUDY.format(servers=servers, iterations=iterations, warmup=warmup)


def begun(folder: Path, text: str, testbed: str = "netns") -> Folder:
    """A results folder with no run in it, as `netstudy run` leaves it that has just begun.

    What the machine carries is not tried: the studies here ask for little.
    """
    path = folder / "study.yaml"
    path.write_text(text)
    return new_folder(prepare(Asked(path, None, (), (), False, testbed, None, None)), folder)


def start(*arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
    """Start netstudy in a process group of its own, as a shell does, so that Ctrl-C can be sent."""
    return _start("netstudy", *arguments, **environment)


def _start(module: str, *arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=CHECKOUT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def resume(folder: Folder) -> subprocess.Popen[str]:
    """Start netstudy on what a folder lacks, after a trial of the machine."""
    return start("run", folder.path, "--resume")


def go_on(folder: Folder) -> subprocess.Popen[str]:
    """Start what a folder lacks without another trial of the machine: other tests do that."""
    return _start("tests.testbed.go_on", folder.path)


def hasty(folder: Folder, *, silence_s: float) -> subprocess.Popen[str]:
    """Start the testbed alone on a folder's plan, with less patience than netstudy asks of it."""
    captures = f"--captures={folder.path / 'captures'}"
    module = [sys.executable, "-m", "netstudy.testbed.netns", captures, f"--silence={silence_s}"]
    with (folder.path / "plan.jsonl").open() as plan:
        return subprocess.Popen(
            sandbox_command(module),
            stdin=plan,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )


def captured(folder: Folder, name: str) -> list[dict[str, Any]]:
    """What was captured of a run, by its name among the captures: a line with its node each."""
    path = folder.path / "captures" / f"{name}.jsonl.gz"
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code, and what was said to people. It fails the test when there is no end."""
    try:
        told = process.communicate(timeout=TIME_LIMIT_S)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert "Traceback" not in told, told
    return process.returncode, told


def awaited(look: Callable[[], FoundT | None], *processes: subprocess.Popen[str]) -> FoundT:
    """What `look` finds, as soon as it finds something, while all the processes go on.

    When it finds nothing, the processes are ended: the tests that follow are not to see them.
    """
    try:
        return _awaited(look, processes)
    except BaseException:
        for process in processes:
            process.kill()
            process.communicate()
        raise


def _awaited(
    look: Callable[[], FoundT | None], processes: Sequence[subprocess.Popen[str]]
) -> FoundT:
    limit = time.monotonic() + TIME_LIMIT_S
    while time.monotonic() < limit:
        found = look()
        if found is not None:
            return found
        for process in processes:
            assert process.poll() is None, process.communicate()
        time.sleep(0.002)
    raise AssertionError(f"not within {TIME_LIMIT_S} s")


def supervisor(front: subprocess.Popen[str]) -> int | None:
    """The first process of the sandbox."""
    found = [pid for pid in descendants(front.pid) if "netstudy.testbed.netns" in words(pid)]
    return next((pid for pid in found if not Path(words(pid)[0]).name.startswith("unshare")), None)


def engines(front: subprocess.Popen[str]) -> dict[str, int]:
    """Address of a host, or "switch" -> its process; those of a run, and of no trial before it."""
    found = {}
    inside = supervisor(front)
    for pid in descendants(inside) if inside else ():
        if words(pid)[1:2] == ["switch"]:
            found["switch"] = pid
        elif words(pid)[1:2] == ["agent"] and (address := _address(pid)) is not None:
            found[address] = pid
    return found


def _address(pid: int) -> str | None:
    try:
        local = _LOCAL.search(Path(f"/proc/{pid}/net/fib_trie").read_text())
    except OSError:
        return None
    return local and local[1]


def words(pid: int) -> list[str]:
    """The command line of a process; of one that is gone, an empty word."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return [""]


def all_engines(front: subprocess.Popen[str], count: int) -> dict[str, int]:
    """The engine's processes of a run, as soon as all are there."""
    return awaited(lambda: found if len(found := engines(front)) == count else None, front)


@contextmanager
def nothing_left(folder: Folder) -> Iterator[Callable[[subprocess.Popen[str]], None]]:
    """After the block: no process, namespace, interface, mount or half-written file of its own.

    The block is given what notes the processes of a front that is to end in it.
    """
    before = _interfaces_and_mounts()
    ends: list[int] = []
    namespaces: set[int] = set()

    def note(front: subprocess.Popen[str]) -> None:
        there = descendants(front.pid)
        namespaces.update(namespaces_of(there) - namespaces_of([os.getpid()]))
        for pid in there:
            try:
                ends.append(os.pidfd_open(pid))
            except ProcessLookupError:
                continue

    yield note
    assert ends
    for end in ends:
        assert select.select([end], [], [], TIME_LIMIT_S)[0], "a process goes on"
        os.close(end)
    assert not namespaces & namespaces_of(all_processes())
    assert _interfaces_and_mounts() == before
    assert folder.leftovers() == []


def _interfaces_and_mounts() -> tuple[set[str], set[str]]:
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    interfaces = {path.name for path in Path("/sys/class/net").iterdir()}
    return interfaces, {line for line in mounts if "netns" in line}
