"""Users of programs inside of a sandbox: root, and an ordinary one for programs that refuse to be
root's."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from netstudy.testbed.netns.namespaces import program

NOBODY: Final = 65_534
_ORDINARY: Final = 1_000
"""Any id that is not root's, inside of a user namespace that shows no other."""


def is_all_users() -> bool:
    """Whether this process is root of all of the machine's users, not of only one id."""
    return Path("/proc/self/uid_map").read_text().split()[2] != "1"


def as_ordinary_user() -> list[str]:
    """The words to put before a command that must not be root's."""
    inside = [program("unshare"), "--ipc"]
    if is_all_users():
        ids = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return [*inside, "--", program("setpriv"), *ids, "--"]
    return [*inside, "--user", f"--map-user={_ORDINARY}", f"--map-group={_ORDINARY}", "--"]
