"""Sandboxes for tests: as root and as an ordinary user, where this machine allows either.

A test with the mark `one_user` is about what happens in the sandbox, whoever made it: `make test`
carries it out as one of the two, now this and now that one, and `make check-slow` as the other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from netstudy.errors import TestbedError
from netstudy.testbed.engine import ENGINE_VARIABLE, find_engine
from netstudy.testbed.netns import sandbox
from netstudy.testbed.netns.namespaces import find_program
from tests.skips import or_skip

CHECKOUT = Path(__file__).parents[2]
_NOBODY = 65_534
_TIME_LIMIT_S = 180
"""For what takes seconds on a machine that has nothing else to do."""
_SYSTEM_PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class User:
    """Somebody who runs a sandbox."""

    prefix: tuple[str, ...]
    """Words before a command that make it theirs."""
    python: str
    """An interpreter that they may execute."""

    @property
    def is_root(self) -> bool:
        """Whether they are root in the machine's own user namespace."""
        return not self.prefix and os.geteuid() == 0

    def command(self, *argv: str) -> list[str]:
        """A command of theirs."""
        return [*self.prefix, *argv]

    def in_sandbox(self, *argv: str) -> list[str]:
        """A command of theirs in a sandbox, as this checkout's code starts it for them."""
        return self.command(*_sandbox_words(self), *argv)

    def start(self, *argv: str, **options: Any) -> subprocess.Popen[str]:
        """Start a command with this checkout's code on its path."""
        return subprocess.Popen(argv, env=environment(), cwd=CHECKOUT, text=True, **options)

    def output(self, *argv: str) -> str:
        """What their interpreter prints with this checkout's code on its path."""
        done = subprocess.run(
            self.command(self.python, *argv),
            env=environment(),
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT_S,
        )
        return done.stdout

    def outcome(self, case: str, *, cases: str = "tests.testbed.inside") -> Any:
        """What a case of the module `cases` comes to in a sandbox of theirs."""
        command = self.in_sandbox(self.python, "-m", cases, case)
        done = subprocess.run(
            command,
            env=environment(),
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT_S,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def environment() -> dict[str, str]:
    """Of a process that has this checkout's code on its path."""
    packages = [path for path in sys.path if path.endswith("site-packages")]
    path = os.pathsep.join([str(CHECKOUT / "python"), str(CHECKOUT), *packages])
    python = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return {**os.environ, **python, ENGINE_VARIABLE: str(find_engine())}


def _root() -> User:
    if not sandbox.may_make_namespaces():
        pytest.skip("needs root, with the right to make namespaces (CAP_SYS_ADMIN, CAP_NET_ADMIN)")
    return User((), sys.executable)


@cache
def _ordinary_user() -> User:
    if os.geteuid() != 0:
        return User((), sys.executable)
    setpriv = find_program("setpriv")
    if setpriv is None:
        pytest.skip("needs setpriv (util-linux) to become an ordinary user")
    ids = (f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups")
    prefix = (setpriv, *ids, "env")  # a second exec: setpriv's own is still root's
    for python in (sys.executable, _SYSTEM_PYTHON):
        if _can_use(prefix, python):
            return User(prefix, python)
    pytest.skip("needs a Python, and this checkout, that an ordinary user may read")


def _can_use(prefix: tuple[str, ...], python: str) -> bool:
    """Whether an interpreter runs this code for that user: same version, everything readable."""
    test = f"import sys, netstudy.wire; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    done = subprocess.run([*prefix, python, "-c", test], env=environment(), capture_output=True)
    return done.returncode == 0


_USERS: dict[str, Callable[[], User]] = {"root": _root, "ordinary user": _ordinary_user}


def user_named(name: str) -> User:
    """One of the two users; skips where the machine does not let them have a sandbox."""
    user = _USERS[name]()
    with or_skip():
        refused = _refused(user)
    if refused is not None:
        pytest.skip(f"the kernel makes no namespaces for this user: {refused}")
    return user


@pytest.fixture(params=list(_USERS))
def user(request: pytest.FixtureRequest) -> User:
    """Root, and an ordinary user."""
    return user_named(request.param)


@cache
def _sandbox_words(user: User) -> tuple[str, ...]:
    """What stands before a command in a sandbox of that user. It depends on their rights, so they
    are asked; once, since an interpreter takes a second to find out."""
    command = user.command(user.python, "-m", "tests.testbed.start")
    done = subprocess.run(command, env=environment(), cwd=CHECKOUT, capture_output=True, text=True)
    if done.returncode != 0:
        raise TestbedError(_last_line(done.stderr))
    return tuple(json.loads(done.stdout))


@cache
def _refused(user: User) -> str | None:
    """Why the kernel makes no sandbox for that user; None: it makes one."""
    command = user.in_sandbox("true")
    tried = subprocess.run(command, env=environment(), cwd=CHECKOUT, capture_output=True, text=True)
    return None if tried.returncode == 0 else _last_line(tried.stderr)


def _last_line(said: str) -> str:
    return (said.strip().splitlines() or ["no namespaces"])[-1]


@pytest.hookimpl(tryfirst=True)  # before tests with the mark `slow` are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives the tests with the mark `one_user` to the two users in turn: the other one's are slow.

    Who is not root tests them all as the ordinary user that they are.
    """
    cases: dict[tuple[str, ...], list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("one_user"):
            name, _, words = item.nodeid.rstrip("]").partition("[")
            case = (name, *(word for word in words.split("-") if word not in _USERS))
            cases.setdefault(case, []).append(item)
    names = cycle(_USERS if os.geteuid() == 0 else ["ordinary user"])
    for of_users in (each for each in cases.values() if len(each) > 1):
        name = next(names)
        for item in of_users:
            if item.callspec.params["user"] != name:
                item.add_marker("slow")
