"""Importing netstudy is quick; optional packages are imported when asked for, and named if
missing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import netstudy
from netstudy.packages import EXTRAS

ROOT = Path(__file__).parents[2]
HEAVY = ("numpy", "scipy", "pydantic", "altair", "pyarrow", "pandas", "polars", "duckdb")


def imported(code: str) -> set[str]:
    """The heavy packages that a fresh process has imported after some code."""
    names = f"import sys; print(*[n for n in {HEAVY!r} if n in sys.modules])"
    command = [sys.executable, "-c", f"{code}\n{names}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_netstudy_imports_nothing_heavy() -> None:
    assert imported("import netstudy; dir(netstudy); netstudy.__version__") == set()


def test_a_folder_is_opened_without_optional_packages(incast: netstudy.StudyData) -> None:
    code = f"import netstudy; r = netstudy.open({str(incast.path)!r}); r.cells(); r.samples()"
    assert imported(code).isdisjoint({"pyarrow", "pandas", "polars", "duckdb"})


def test_one_library_does_not_import_the_other(incast: netstudy.StudyData) -> None:
    pytest.importorskip("pyarrow")
    code = f"import netstudy; netstudy.open({str(incast.path)!r}).cells().to_arrow()"
    assert imported(code).isdisjoint({"polars", "duckdb"})  # pyarrow looks for pandas itself


@pytest.mark.parametrize(
    ("missing", "method", "install"),
    [
        ("pyarrow", "to_arrow", "pyarrow"),
        ("pandas", "to_pandas", "pandas pyarrow"),
        ("polars", "to_polars", "polars pyarrow"),
    ],
)
def test_a_missing_package_is_told_with_the_command_that_installs_it(
    incast: netstudy.StudyData,
    monkeypatch: pytest.MonkeyPatch,
    missing: str,
    method: str,
    install: str,
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(netstudy.MissingPackageError) as found:
        getattr(incast.cells(), method)()
    assert isinstance(found.value, netstudy.NetstudyError | ImportError)
    command = f"{sys.executable} -m pip install {install}"
    assert str(found.value) == f"{missing} is not installed. Install it with: {command}"


def test_a_missing_package_is_told_by_export_too(
    incast: netstudy.StudyData, tmp_path: Path
) -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from netstudy.cli import invoke\n"
        f"sys.exit(invoke(['export', {str(incast.path)!r}, '--parquet', '-o', 'out.parquet']))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("netstudy: pyarrow is not installed. Install it with: ")
    assert list(tmp_path.iterdir()) == []


def test_messages_name_what_the_extras_install() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    names = {"typst": "pdf", "distributed": "dask", "pyarrow": "arrow"}
    for name, needs in EXTRAS.items():
        extra = extras[names.get(name, name)]
        assert tuple(one.partition(">=")[0] for one in extra) == needs


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'opne'"):
        _ = netstudy.opne
