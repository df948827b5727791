"""The raw data of a run: everything that its processes wrote, in one file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from itertools import count
from pathlib import Path

from netstudy.store.files import storage, write_atomic
from netstudy.store.folder import CAPTURE, RECORDING, rename_captures
from netstudy.testbed.real.processes import Transcript
from netstudy.testbed.real.sysstat import Recording


def keep(path: Path, transcript: Transcript) -> None:
    """Write each line of output, with the name of the node that it came from. Raises StudyError
    when that fails."""
    text = "".join(_entry(node, line) for node, lines in transcript.items() for line in lines)
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, gzip.compress(text.encode(), mtime=0), within=path.parents[1])


def keep_recordings(captures: Path, run: str, recordings: Iterable[Recording]) -> None:
    """Write the file that sysstat recorded in each host, as `<run>.<host>.sar`. Raises StudyError
    when that fails."""
    for one in recordings:
        with storage(captures):
            captures.mkdir(parents=True, exist_ok=True)
            path = captures / f"{run}.{one.host}{RECORDING}"
            write_atomic(path, one.file, within=captures.parent)


def set_aside(path: Path, why: str) -> None:
    """Rename the run's capture to make room for the next one: the first becomes `<run>.<why>-1`,
    the second `-2`."""
    run = path.name.removesuffix(CAPTURE)
    names = (path.with_name(f"{run}.{why}-{number}{CAPTURE}") for number in count(1))
    free = next(name for name in names if not name.exists())
    with storage(path):
        rename_captures(path.parent, run, free.name.removesuffix(CAPTURE))


def _entry(node: str, line: bytes) -> str:
    return f'{{"node":{json.dumps(node)},"record":{_as_json(line)}}}\n'


def _as_json(line: bytes) -> str:
    """The line itself if it is JSON; anything else, such as a truncated line, as a JSON string."""
    try:
        json.loads(line)
    except ValueError:
        return json.dumps(line.decode("utf-8", "backslashreplace").rstrip())
    return line.decode().rstrip()
