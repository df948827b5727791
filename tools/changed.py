"""Chooses the tests that the changes since a commit can break: `tools/tests --changed`.

usage: python -m tools.changed [COMMIT]

Prints assignments for the shell: which crates, which paths in tests/ and which marks to test. The
choice follows the layers of the front and the dependencies between crates: a test is chosen if it
uses the changed code or a layer above it. If a changed file belongs to neither, everything is
tested.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
_NOT_SLOW = "not slow"
_WITH_ENGINE = "engine and not slow"
_MODULE = re.compile(r"(?:netstudy|tests|tools)(?:\.\w+)*")
_SETUP = ("tests/setup", "tests/docs")
"""Tests of the Makefile and the shell tools, and of pages that describe them."""


@dataclass(frozen=True)
class Choice:
    """The tests to run."""

    crates: tuple[str, ...]
    """Names of packages; `--workspace` means all."""
    paths: tuple[str, ...]
    """Files and folders of tests/."""
    marks: str = _NOT_SLOW

    def for_the_shell(self) -> str:
        """Assignments that `tools/tests` evaluates."""
        crates = [one if one.startswith("-") else f"-p {one}" for one in self.crates]
        values = {"crates": " ".join(crates), "paths": " ".join(self.paths), "marks": self.marks}
        return "\n".join(f"{name}={shlex.quote(value)}" for name, value in values.items())


EVERYTHING = Choice(("--workspace",), ("tests",))


def choose(changed: Iterable[PurePosixPath]) -> Choice:
    """The tests that changes to these files can break."""
    crates: set[str] = set()
    paths: set[str] = set()
    engine = False
    for path in changed:
        match path.parts:
            case ("crates", crate, *rest):
                tests_only = rest[:1] == ["tests"]
                crates |= {_package(crate)} if tests_only else _with_dependents(_package(crate))
                engine |= not tests_only
            case ("python", "netstudy", name, *_):
                paths |= _using_layer(name.removesuffix(".py"))
            case ("tests", *_) | ("tools", *_) if path.suffix == ".py":
                paths |= _using_file(path)
            case ("Makefile",) | (".ci", *_) | ("tools", *_):
                paths |= set(_SETUP)
            case ("docs", *_) if path.suffix == ".md":
                paths.add("tests/docs")
            case (name,) if name.endswith(".md"):
                paths.add("tests/docs")
            case _:
                return EVERYTHING
    # A change to the engine can break any test that runs it, in every folder.
    if not engine:
        return Choice(tuple(sorted(crates)), tuple(sorted(paths)))
    marks = _NOT_SLOW if paths else _WITH_ENGINE
    return Choice(tuple(sorted(crates)), ("tests",), marks)


def _package(crate: str) -> str:
    return f"netstudy-{crate}"


@cache
def _dependencies() -> dict[str, set[str]]:
    """Package of the workspace -> the packages that it uses directly."""
    command = ("cargo", "metadata", "--no-deps", "--offline", "--locked", "--format-version=1")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {
        package["name"]: {dependency["name"] for dependency in package["dependencies"]}
        for package in json.loads(done.stdout)["packages"]
    }


def _with_dependents(package: str) -> set[str]:
    """A package and all packages that use it, directly or indirectly."""
    found = {package}
    while more := {name for name, uses in _dependencies().items() if uses & found} - found:
        found |= more
    return found


@cache
def _ranks() -> dict[str, int]:
    """Module of the front -> number of its layer, counted from the top, according to the contract
    in pyproject.toml."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    contract = next(one for one in contracts if one["id"] == "layers")
    layers = [layer.split(" | ") for layer in contract["layers"]]
    return {name: rank for rank, names in enumerate(layers) for name in names}


def _using_layer(module: str) -> set[str]:
    """The test files that use a module of the front or a layer above it."""
    ranks = _ranks()
    if module not in ranks:  # the package itself, which all modules use
        return {"tests"}
    others = {name for name, rank in ranks.items() if rank >= ranks[module]} - {module}
    return {path.as_posix() for path in _test_files() if _front_modules(path) - others}


def _front_modules(test: PurePosixPath) -> set[str]:
    return {name.split(".")[1] for name in _reached(test) if name.startswith("netstudy.")}


def _using_file(path: PurePosixPath) -> set[str]:
    """The test files that a file of tests/ or tools/ belongs to, or that import it."""
    if path.name == "conftest.py":
        return {path.parent.as_posix()}
    module = ".".join(path.with_suffix("").parts)
    users = {one.as_posix() for one in _test_files() if module in _reached(one)}
    own = {path.as_posix()} if path.name.startswith("test_") and (ROOT / path).exists() else set()
    return users | own


@cache
def _test_files() -> tuple[PurePosixPath, ...]:
    found = sorted((ROOT / "tests").rglob("test_*.py"))
    return tuple(PurePosixPath(path.relative_to(ROOT)) for path in found)


def _reached(test: PurePosixPath) -> set[str]:
    """Modules of the repository that a test file uses, directly, through other files of tests/ and
    tools/, or through the conftest.py of its folders. Imports within the front need not be
    followed, since the layers cover them."""
    # All areas share the conftest.py of tests/, so its imports do not show what a single test uses.
    ahead = [test, *(folder / "conftest.py" for folder in test.parents[:-2])]
    files: set[PurePosixPath] = set()
    modules: set[str] = set()
    while ahead:
        path = ahead.pop()
        if path in files or not (ROOT / path).is_file():
            continue
        files.add(path)
        found = _named(path)
        modules |= found
        ahead += [_file_of(name) for name in found if not name.startswith("netstudy")]
    return modules


def _file_of(module: str) -> PurePosixPath:
    path = PurePosixPath(*module.split("."))
    package = path / "__init__.py"
    return package if (ROOT / package).exists() else path.with_suffix(".py")


@cache
def _named(path: PurePosixPath) -> frozenset[str]:
    """Modules that a file imports, or names in a string for another process to run."""
    return frozenset(_modules(ast.parse((ROOT / path).read_text())))


def _modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module), names=names):
                found = [f"{module}.{alias.name}" for alias in names]
                found += [module] if module != "netstudy" else []
            case ast.Constant(value=str(text)):
                found = [text]
            case _:
                continue
        for name in found:
            if _MODULE.fullmatch(name):
                # The name `netstudy` without a module means the program, which uses all layers.
                yield "netstudy.__main__" if name == "netstudy" else name


def changed_files(since: str) -> list[PurePosixPath]:
    """Files that differ from a commit, including new files.

    Raises CalledProcessError for an unknown commit.
    """
    names = []
    for command in (
        ("diff", "--name-only", "--no-renames", "-z", since, "--"),
        ("ls-files", "--others", "--exclude-standard", "-z"),
    ):
        done = subprocess.run(
            ("git", *command), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
        )
        names += [name for name in done.stdout.split("\0") if name]
    return [PurePosixPath(name) for name in names]


if __name__ == "__main__":
    print(choose(changed_files(*(sys.argv[1:] or ["HEAD"]))).for_the_shell())
