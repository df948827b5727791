"""The commands that run on hosts, as text for the host's shell.

The log-in shell of a user may be sh, bash, csh or fish, and its start files may print. So each
command is `exec sh -c 'SCRIPT' sh ARGUMENT…` with a script without single quotes, and prints a line
with a nonce first: lines before it are not the command's.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

BEGIN: Final = "netstudy"
"""The first word of the line that begins a command's output; the nonce follows."""

PROBE: Final = (
    "echo netstudy $1; uname -m; export LC_ALL=C; "
    'for f in "$2" "$3"; do '
    'd=$f; until [ -d "$d" ]; do d=$(dirname "$d"); done; '
    'echo "free $(df -Pk "$d" | tail -n 1)"; done; '
    'cd "$2" && sha256sum engine-*'
)
"""Prints the architecture, a line of df(1) for the folder of the engine and one for the folder of
files, and the hashes of the engines that are there."""

COPY: Final = (
    'echo netstudy $1; export LC_ALL=C; umask 077; mkdir -p "$2" && cd "$2" || exit; '
    't=.engine-$$; trap "rm -f $t" EXIT; trap exit HUP INT PIPE TERM; cat >$t && chmod 700 $t && '
    'h=$(sha256sum <$t) && if [ "${h%% *}" = "$3" ]; then mv -f $t "engine-$3" && echo copied; '
    "else echo differs; fi"
)
"""Stores standard input as the engine of a hash, or not at all. A shell that is killed by a signal,
such as SIGPIPE after a lost connection, would not run its trap for EXIT."""

REMOVE: Final = (
    "echo netstudy $1; export LC_ALL=C; "
    'cd "$2" || exit; for f in engine-* .engine-*; do '
    '[ -f "$f" ] && rm -f "$f" && echo "removed $f"; done; cd / && rmdir "$2"'
)
"""Removes the engines, and their folder if nothing else is in it."""


def probe(nonce: str, engines: str, files: str | None) -> str:
    """The command for `PROBE`."""
    return _script(PROBE, nonce, engines, files or engines)


def copy(nonce: str, engines: str, sha256: str) -> str:
    """The command for `COPY`."""
    return _script(COPY, nonce, engines, sha256)


def remove(nonce: str, engines: str) -> str:
    """The command for `REMOVE`."""
    return _script(REMOVE, nonce, engines)


def host_session(engine: str, nonce: str, lease_ms: int) -> str:
    """The command that begins the session of a host."""
    return f"exec {quoted(engine)} host --nonce {nonce} --lease-ms {lease_ms}"


def engine_path(folder: str, sha256: str) -> str:
    """The engine with this hash."""
    return f"{folder}/engine-{sha256}"


def _script(script: str, nonce: str, *paths: str) -> str:
    return " ".join(["exec sh -c", f"'{script}'", "sh", nonce, *map(quoted, paths)])


def quoted(path: str) -> str:
    """A path for a shell. A leading ~/ stands for the home folder."""
    if path.startswith("~/"):
        return f'"$HOME"/{shlex.quote(path.removeprefix("~/"))}'
    return shlex.quote(path)


@dataclass(frozen=True)
class Said:
    """The output of a command: the lines of log-in scripts, and the command's own."""

    before: tuple[str, ...]
    lines: tuple[str, ...] | None
    """None: the command did not begin."""


def after_nonce(out: bytes, nonce: str) -> Said:
    """Parts the output of a command at the line with its nonce."""
    lines = out.decode("utf-8", "replace").splitlines()
    return _parted(lines, f"{BEGIN} {nonce}")


def _parted(lines: Sequence[str], begin: str) -> Said:
    for at, line in enumerate(lines):
        if line.endswith(begin):
            # The last line of a log-in script may have no line feed.
            unended = line.removesuffix(begin)
            return Said((*lines[:at], *([unended] if unended else ())), tuple(lines[at + 1 :]))
    return Said(tuple(lines), None)
