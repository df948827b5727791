"""Users of programs inside a sandbox: root, and an ordinary user for programs that refuse to run as
root."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from netstudy.testbed.netns.namespaces import program

NOBODY: Final = 65_534
_ORDINARY: Final = 1_000
"""The user id inside a nested user namespace, which has only this one id; any id but root's would
do."""


def is_all_users() -> bool:
    """Whether this process is root with all user ids of the machine, and not root in a user
    namespace that has a single id."""
    return Path("/proc/self/uid_map").read_text().split()[2] != "1"


def as_ordinary_user() -> list[str]:
    """The words to put before a command that must not run as root."""
    inside = [program("unshare"), "--ipc"]
    if is_all_users():
        ids = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return [*inside, "--", program("setpriv"), *ids, "--"]
    return [*inside, "--user", f"--map-user={_ORDINARY}", f"--map-group={_ORDINARY}", "--"]
