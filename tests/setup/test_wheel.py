"""The wheels: their content, and an answer where there is neither Rust nor a checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = "netstudy-0.1.0.data/scripts/netstudy-engine"
BYTES_MAX = 15_000_000

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["x86_64", "aarch64"])
def wheel(request: pytest.FixtureRequest) -> Path:
    """A wheel for a processor, as `make wheel` leaves it."""
    made = subprocess.run(["make", "wheel"], cwd=ROOT, capture_output=True, text=True)
    if "rustup target add" in made.stderr:
        pytest.skip(made.stderr.strip())
    assert made.returncode == 0, made.stderr
    name = (
        f"netstudy-0.1.0-py3-none-manylinux2014_{request.param}.manylinux_2_17_{request.param}.whl"
    )
    return ROOT / "dist" / name


def test_it_is_small_and_brings_profiles_schemas_and_studies(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())

    assert wheel.stat().st_size <= BYTES_MAX
    assert {
        ENGINE,
        "netstudy/_hardware/arista-7124s.yaml",
        "netstudy/_schema/inventory.schema.json",
        "netstudy/_schema/study.schema.json",
        "netstudy/_studies/incast/study.yaml",
        "netstudy/_studies/incast/reference/incast_4mb_mtu9000.csv",
    } <= names
    assert not [name for name in names if name.endswith(".svg")]


def test_its_engine_asks_for_no_library(wheel: Path, tmp_path: Path) -> None:
    engine = zipfile.ZipFile(wheel).extract(ENGINE, tmp_path)

    said = subprocess.run(["readelf", "-dV", engine], capture_output=True, text=True, check=True)

    assert "NEEDED" not in said.stdout
    assert "GLIBC" not in said.stdout


def test_an_empty_environment_answers_a_question(wheel: Path, tmp_path: Path) -> None:
    if "aarch64" in wheel.name:
        pytest.skip("needs a processor of this kind")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    programs = tmp_path / "empty/bin"
    subprocess.run([programs / "pip", "install", "--quiet", wheel], check=True)

    def netstudy(*arguments: str) -> str:
        done = subprocess.run(
            [programs / "netstudy", *arguments],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "release build for x86_64-linux-musl" in netstudy("--version")
    netstudy("init", "mine", "--like", "compare")
    assert "completion time is shorter with dctcp than with cubic" in netstudy("run", "mine")
    netstudy("init", "published", "--from", "gigabit")
    assert netstudy("validate", "published").startswith("published: ok")
