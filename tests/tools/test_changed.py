"""`tools/tests --changed`: a change is tested with all that uses it, and with nothing else."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from tools import changed
from tools.changed import EVERYTHING, Choice, choose


def chosen(*paths: str) -> Choice:
    return choose(map(PurePosixPath, paths))


def test_a_layer_is_tested_with_the_layers_above_it() -> None:
    paths = chosen("python/netstudy/report/prose.py").paths

    assert "tests/report/test_prose.py" in paths
    assert "tests/cli/test_results.py" in paths, "the verbs print reports"
    assert "tests/study/test_units.py" not in paths
    assert "tests/store/test_folder.py" not in paths


def test_layers_side_by_side_do_not_use_each_other() -> None:
    assert (
        "tests/calibration/test_least_squares.py" not in chosen("python/netstudy/report/x.py").paths
    )


def test_a_program_that_a_test_starts_uses_all_layers() -> None:
    # It imports nothing of the verbs, and starts `python -m netstudy`.
    assert "tests/cli/test_kill.py" in chosen("python/netstudy/cli/ls.py").paths


def test_the_lowest_layer_is_used_by_nearly_all() -> None:
    files = {path.as_posix() for path in changed._test_files()}

    assert len(chosen("python/netstudy/errors.py").paths) > 0.8 * len(files)


def test_a_crate_is_tested_with_the_crates_that_use_it_and_the_tests_that_need_the_engine() -> None:
    choice = chosen("crates/snmp/src/poller.rs")

    assert choice == Choice(
        ("netstudy-engine", "netstudy-snmp", "netstudy-switch"), ("tests",), "engine and not slow"
    )


def test_a_test_of_a_crate_concerns_that_crate_only() -> None:
    assert chosen("crates/tcp/tests/it/twins.rs") == Choice(("netstudy-tcp",), ())


def test_a_test_file_is_itself_tested() -> None:
    path = "tests/analysis/test_rank.py"

    assert chosen(path) == Choice((), (path,))


def test_a_helper_is_tested_by_the_files_that_import_it() -> None:
    paths = chosen("tests/setup/checkout.py").paths

    assert {"tests/setup/test_setup.py", "tests/setup/test_tools.py"} <= set(paths)
    assert not [path for path in paths if not path.startswith("tests/setup/")]


@pytest.mark.parametrize(
    ("path", "folders"),
    [
        ("docs/guide/namespaces.md", {"tests/docs"}),
        ("README.md", {"tests/docs"}),
        ("Makefile", {"tests/docs", "tests/setup"}),
        ("tools/setup", {"tests/docs", "tests/setup"}),
        ("tests/testbed/conftest.py", {"tests/testbed"}),
        ("tests/conftest.py", {"tests"}),
    ],
)
def test_other_files_have_their_folders(path: str, folders: set[str]) -> None:
    assert set(chosen(path).paths) == folders


@pytest.mark.parametrize(
    "path", ["hardware/host-1g.yaml", "Cargo.toml", "studies/incast/study.yaml"]
)
def test_where_it_cannot_be_told_everything_is_tested(path: str) -> None:
    assert chosen("README.md", path) == EVERYTHING


def test_nothing_changed_nothing_tested() -> None:
    assert chosen() == Choice((), ())


def test_the_shell_is_given_what_cargo_and_pytest_take() -> None:
    choice = Choice(("netstudy-tcp", "netstudy-sim"), ("tests/a", "tests/b"), "engine and not slow")

    assert choice.for_the_shell().splitlines() == [
        "crates='-p netstudy-tcp -p netstudy-sim'",
        "paths='tests/a tests/b'",
        "marks='engine and not slow'",
    ]


def test_every_module_of_the_front_has_a_rank() -> None:
    front = Path(changed.ROOT, "python/netstudy")
    modules = {
        path.stem for path in front.iterdir() if path.name[0] != "_" and path.name != "py.typed"
    }

    assert modules <= set(changed._ranks())
