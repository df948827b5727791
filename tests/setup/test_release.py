"""`make release`: by branch counts of its own where they can be recorded, and it says which.

An engine that writes other records than the fast one, or whose counts do not fit, is not kept.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.setup.checkout import STAND_INS, Machine

HOST = "x86_64-unknown-linux-gnu"
MUSL = "x86_64-unknown-linux-musl"
COUNTS = 'while [ "$1" != --output ]; do shift; done; echo "just recorded" >"$2"'
"""An llvm-profdata that merges whatever it is given."""


@pytest.fixture(autouse=True)
def set_up(computer: Machine) -> None:
    """A checkout after `make build`, on a machine with the standard library of each target."""
    for target in (HOST, MUSL, "aarch64-unknown-linux-musl"):
        (computer.checkout / "sysroot/lib/rustlib" / target / "lib").mkdir(parents=True)
    python(computer)


def python(computer: Machine, comparison: str = "exit 0") -> None:
    """A Python whose training leaves counts, and whose comparison ends as told."""
    computer.install(
        "trained",
        f"""case "$*" in
    *tools.bench.training) echo counts >"$(dirname "$LLVM_PROFILE_FILE")/1.profraw" ;;
    *tools.same_bytes*) {comparison} ;;
esac""",
    )
    place = computer.checkout / ".venv/bin/python"
    place.parent.mkdir(parents=True, exist_ok=True)
    (computer.programs / "trained").rename(place)


def with_rustups_profdata(computer: Machine) -> None:
    """What `rustup component add llvm-tools` brings."""
    place = computer.checkout / "sysroot/lib/rustlib" / HOST / "bin/llvm-profdata"
    place.parent.mkdir(parents=True)
    computer.install("llvm-profdata", COUNTS)
    (computer.programs / "llvm-profdata").rename(place)


def release(
    computer: Machine, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Call `tools/release`; it must succeed."""
    done = computer.call("tools/release", *arguments, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def flags_of_builds(computer: Machine) -> list[str]:
    """Makes cargo note the flags of rustc that each of its builds has; the notes so far."""
    notes = computer.checkout / "flags"
    if not notes.exists():
        script = f"""echo "$CARGO_ENCODED_RUSTFLAGS" >>"{notes}"\n{STAND_INS["cargo"]}"""
        computer.install("cargo", script)
        notes.touch()
    return notes.read_text().splitlines()


def test_the_build_records_what_it_is_optimised_by(computer: Machine) -> None:
    with_rustups_profdata(computer)
    flags_of_builds(computer)

    done = release(computer)

    counting, using = flags_of_builds(computer)
    assert counting == "-Cprofile-generate"
    file = Path(using.removeprefix("-Cprofile-use="))
    assert file.read_text() == "just recorded\n"
    assert "by the recorded profile" in done.stdout
    assert (computer.checkout / "dist/netstudy-engine").is_file()


def test_debians_profdata_of_the_same_llvm_will_do(computer: Machine) -> None:
    computer.install("llvm-profdata-22", COUNTS)

    assert "by the recorded profile" in release(computer).stdout


@pytest.mark.parametrize("other", ["llvm-profdata", "llvm-profdata-19"])
def test_without_profdata_of_the_compilers_llvm_it_says_so(computer: Machine, other: str) -> None:
    computer.install(other, COUNTS)
    flags_of_builds(computer)

    done = release(computer)

    assert flags_of_builds(computer) == [""]
    assert "without a recorded profile: there is no llvm-profdata of LLVM 22" in done.stdout
    assert "rustup component add llvm-tools" in done.stdout


def test_counts_of_other_sources_are_told_and_no_engine_is_kept(computer: Machine) -> None:
    with_rustups_profdata(computer)
    mismatch = "warning: sim: function control flow change detected (hash mismatch) run_with"
    said = f'case "$CARGO_ENCODED_RUSTFLAGS" in *use*) echo "{mismatch}" >&2 ;; esac'
    computer.install("cargo", f"{said}\n{STAND_INS['cargo']}")

    done = computer.call("tools/release")

    assert done.returncode == 1
    assert mismatch in done.stderr
    assert not (computer.checkout / "dist/netstudy-engine").exists()


def test_an_engine_that_writes_other_records_is_not_kept(computer: Machine) -> None:
    python(computer, comparison="exit 1")

    assert computer.call("tools/release").returncode == 1
    assert list((computer.checkout / "dist").iterdir()) == []


def test_a_current_engine_is_not_built_again(computer: Machine) -> None:
    release(computer)
    computer.calls()

    release(computer)

    assert not [call for call in computer.calls() if call.startswith("cargo")]


def test_a_changed_source_builds_it_again(computer: Machine) -> None:
    release(computer)
    computer.calls()
    (computer.checkout / "crates/new.rs").touch()

    release(computer)

    assert [call for call in computer.calls() if call.startswith("cargo")]


@pytest.mark.parametrize("variable", ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"])
def test_flags_of_the_user_are_refused_by_name(computer: Machine, variable: str) -> None:
    done = computer.call("tools/release", **{variable: "-Ctarget-cpu=native"})

    assert done.returncode == 2
    assert "RUSTFLAGS is set" in done.stderr


def test_the_portable_engines_are_built_by_zig_without_counts(computer: Machine) -> None:
    with_rustups_profdata(computer)

    release(computer, "portable")

    (build,) = (call for call in computer.calls() if call.startswith("cargo"))
    assert build.startswith(f"cargo zigbuild --target {MUSL} --target aarch64-unknown-linux-musl")
    for arch in ("x86_64", "aarch64"):
        assert (computer.checkout / f"dist/netstudy-engine-{arch}").is_file()


def test_an_absent_standard_library_is_named_with_its_command(computer: Machine) -> None:
    (computer.checkout / "sysroot/lib/rustlib" / MUSL / "lib").rmdir()

    done = computer.call("tools/release", "portable")

    assert done.returncode == 1
    assert f"rustup target add {MUSL}" in done.stderr


def test_an_unknown_word_is_answered_with_the_usage(computer: Machine) -> None:
    done = computer.call("tools/release", "riscv64")

    assert done.returncode == 2
    assert "usage" in done.stderr
