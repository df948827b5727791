"""What no tracked file may hold: places of one machine, and places where packages come from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from netstudy.cli import app
from netstudy.plan import make_plan
from netstudy.study import load
from tests.docs.pages import ROOT, tracked_files

REGISTRIES = (
    ("py", "pi.org"),
    ("pythonhosted", ".org"),
    ("crates", ".io"),
    ("npmjs", ".org"),
    ("proxy.golang", ".org"),
    ("deb.debian", ".org"),
)
"""In two parts, so that this file does not hold them."""
MACHINE_PATH = re.compile(r"(?<![\w./~$}])/(?:home|root|Users|work|mnt|opt)/\w")
PACKAGE = re.compile(r"^(?P<name>[a-z0-9.-]+)==(?P<version>\S+)(?P<marker> ; .*?)? \\$", re.M)


def texts() -> list[tuple[Path, str]]:
    """Every tracked file that is text, with its content."""
    found = []
    for path in tracked_files():
        data = path.read_bytes()
        if b"\0" not in data:
            found.append((path.relative_to(ROOT), data.decode()))
    return found


def test_no_file_names_a_registry() -> None:
    # Cargo.lock names its registry in a form of cargo's own, the same on every machine
    searched = [(path, text) for path, text in texts() if path.name != "Cargo.lock"]
    hosts = ["".join(parts) for parts in REGISTRIES]

    assert [(path, host) for path, text in searched for host in hosts if host in text] == []


def test_no_file_names_a_path_of_one_machine() -> None:
    assert [
        (path, found[0]) for path, text in texts() if (found := MACHINE_PATH.search(text))
    ] == []


@pytest.mark.parametrize(
    "lock",
    [
        "requirements.lock",
        "requirements-data.lock",
        "requirements-dev.lock",
        "requirements-portable.lock",
    ],
)
def test_every_locked_package_has_a_hash_and_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text()
    entries = [entry for entry in re.split(r"^(?=\S)", text, flags=re.M) if "==" in entry]

    assert entries
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in text


def test_tests_run_with_the_packages_that_users_get() -> None:
    users, with_extras, developers = (
        {match[0] for match in PACKAGE.finditer((ROOT / lock).read_text())}
        for lock in ("requirements.lock", "requirements-data.lock", "requirements-dev.lock")
    )

    assert users
    assert users <= developers
    assert {one.partition("==")[0] for one in with_extras} >= {
        "pyarrow",
        "pandas",
        "polars",
        "typst",
    }
    assert with_extras <= developers


def test_no_tracked_file_is_over_a_mebibyte() -> None:
    assert [path for path in tracked_files() if path.stat().st_size > 2**20] == []


def test_no_file_has_a_space_in_its_name() -> None:
    """A command whose output became arguments by mistake leaves such files behind."""
    assert [path for path in tracked_files() if " " in str(path.relative_to(ROOT))] == []


def studies() -> list[Path]:
    """Every study file of the repository."""
    return [path for path in tracked_files() if path.name == "study.yaml"]


@pytest.mark.parametrize("study", studies(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_study_is_valid_and_can_be_planned(study: Path) -> None:
    assert make_plan(load(study)).estimate.runs > 0


@pytest.mark.parametrize("page", ["README.md", "docs/guide/getting-started.md"])
def test_the_pages_name_the_prerequisites_that_set_up_checks(page: str) -> None:
    python = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    rust = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    text = " ".join((ROOT / page).read_text().split())

    assert f"Python {python.removeprefix('>=')} or later" in text
    assert f"Rust {rust} or later" in text


def test_the_readme_has_every_verb_in_its_table() -> None:
    section = (ROOT / "README.md").read_text().partition("## The verbs")[2].partition("## ")[0]
    verbs = {str(command.name) for command in app.registered_commands}

    assert verbs - set(re.findall(r"`([a-z]+)`", section)) == set()
