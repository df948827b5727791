"""Users of a lab: root and an ordinary user at the hosts, and the user that COMMAND runs as.

An ordinary user who starts a lab has a single user id in it. Then sshd itself runs as the ordinary
user of the hosts, and nobody can log in as root.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netstudy.testbed.netns.namespaces import program
from netstudy.testbed.netns.users import is_all_users

SHELL: Final = "/bin/bash"
_HOMES = Path("/home")
_FIRST_UID = 1000


@dataclass(frozen=True)
class User:
    """A line of /etc/passwd."""

    name: str
    uid: int
    gid: int
    home: Path

    @property
    def entry(self) -> str:
        """The line; `*` is a password that nobody has, of an account that is not locked."""
        return f"{self.name}:*:{self.uid}:{self.gid}::{self.home}:{SHELL}"

    def words(self) -> list[str]:
        """The words to put before a command that must run as this user."""
        if is_all_users():
            ids = [f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups"]
            return [] if self.uid == os.geteuid() else [program("setpriv"), *ids, "--"]
        ids = [f"--map-user={self.uid}", f"--map-group={self.gid}"]
        return [program("unshare"), "--user", *ids, "--"]

    def own(self, path: Path, mode: int) -> None:
        """Make a file or folder this user's. With a single user id, it is already."""
        path.chmod(mode)
        if is_all_users():
            os.chown(path, self.uid, self.gid)


ROOT: Final = User("root", 0, 0, Path("/root"))


def ordinary_user() -> User:
    """The ordinary user of the hosts: `ns`, with a user id that this machine does not use."""
    used = {one.pw_uid for one in pwd.getpwall()}
    uid = next(uid for uid in range(_FIRST_UID, 1 << 16) if uid not in used)
    return User("ns", uid, uid, _HOMES / "ns")


def caller(uid: int, gid: int, home: Path) -> User:
    """The caller of the lab, with another home."""
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:  # in a container, whoever it was started as
        name = "caller"
    return User(name, uid, gid, home)


def passwd(users: Iterable[User]) -> str:
    """The machine's /etc/passwd with these users in place of its users of the same names or ids."""
    own = list(users)
    names, uids = {one.name for one in own}, {str(one.uid) for one in own}
    others = [
        line
        for line in Path("/etc/passwd").read_text().splitlines()
        if names.isdisjoint(line.split(":")[:1]) and uids.isdisjoint(line.split(":")[2:3])
    ]
    return "".join(f"{line}\n" for line in [*(one.entry for one in own), *others])
