"""The engine is built by its recorded profile where that can be used, and says which it is.

A profile that does not fit the sources is not recorded.
"""

from __future__ import annotations

import subprocess

import pytest

from tests.setup.checkout import PROFILE, ROOT, STAND_INS, Machine

INDEXED_PROFILE_MAGIC = b"\xfflprofi\x81"
"""LLVM's llvm/ProfileData/InstrProf.h, IndexedInstrProf::Magic, in the order of its bytes."""


def built(computer: Machine, **variables: str) -> tuple[str, str]:
    """How cargo is called for the engine, and what make says of it."""
    made = computer.make("build", **variables)
    assert made.returncode == 0, made.stderr
    (call,) = (call for call in computer.calls() if call.startswith("cargo build"))
    (said,) = (line for line in made.stdout.splitlines() if line.startswith("  engine"))
    return call, said


@pytest.fixture(autouse=True)
def recorded_for_these_dependencies(computer: Machine) -> None:
    """Whether a profile is recorded anew with each change of dependencies is not at stake here."""
    key = computer.call("tools/profile", "key").stdout
    (computer.checkout / PROFILE / "key.txt").write_text(key)
    computer.calls()


def test_the_recorded_compiler_uses_the_profile_of_this_checkout(computer: Machine) -> None:
    call, said = built(computer)

    profile = computer.checkout.resolve() / PROFILE / "engine.profdata"
    assert f'build.rustflags=["-Cprofile-use={profile}",' in call
    assert profile.read_bytes().startswith(INDEXED_PROFILE_MAGIC)
    assert f"by {PROFILE}" in said


@pytest.mark.parametrize("line", ["release: 1.", "LLVM version: ", "commit-hash: ", "host: "])
def test_another_compiler_leaves_it_out(computer: Machine, line: str) -> None:
    recorded = (ROOT / PROFILE / "key.txt").read_text()
    assert line in recorded
    other = recorded.replace(line, line + "9").rpartition("settings:")[0]
    computer.install("rustc", f"echo '{other.strip()}'")

    call, said = built(computer)

    assert "profile-use" not in call
    assert f"without {PROFILE}: it is for {recorded.splitlines()[0]}" in said


def test_other_dependencies_leave_it_out(computer: Machine) -> None:
    tree = 'tree) echo "1 netstudy-sim v9.9.9" ;;'
    cargo = STAND_INS["cargo"].replace("case $1 in", f"case $1 in {tree}")
    computer.install("cargo", cargo)

    call, said = built(computer)

    assert "profile-use" not in call
    assert "other dependencies" in said


def test_other_settings_leave_it_out(computer: Machine) -> None:
    manifest = computer.checkout / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace("debug = 1", "debug = 0"))

    call, said = built(computer)

    assert "profile-use" not in call
    assert "other settings" in said


def test_settings_in_variables_leave_it_out_too(computer: Machine) -> None:
    call, said = built(computer, CARGO_PROFILE_RELEASE_DEBUG="0")

    assert "profile-use" not in call
    assert "other settings" in said


@pytest.mark.parametrize("variable", ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"])
def test_flags_of_the_user_stand(computer: Machine, variable: str) -> None:
    call, said = built(computer, **{variable: "-Ctarget-cpu=native"})

    assert "profile-use" not in call
    assert "RUSTFLAGS is set" in said


def test_a_path_may_hold_what_toml_quotes(computer: Machine) -> None:
    odd = computer.checkout.with_name('a user\'s "net study"')
    computer.checkout.rename(odd)

    call, _ = built(Machine(odd, computer.programs))

    assert r"a user's \"net study\"/crates" in call


def test_a_new_profile_builds_the_engine_again(computer: Machine) -> None:
    built(computer)
    (computer.checkout / PROFILE / "engine.profdata").write_bytes(b"recorded anew")

    built(computer)


def recording(computer: Machine, cargo_says: str) -> subprocess.CompletedProcess[str]:
    """`tools/profile`, where cargo says this of the engine built by what was recorded."""
    key = (ROOT / PROFILE / "key.txt").read_text()
    host = key.partition("host: ")[2].partition("\n")[0]
    merge = computer.checkout / f"sysroot/lib/rustlib/{host}/bin/llvm-profdata"
    for program in (merge, computer.checkout / ".venv/bin/python"):
        program.parent.mkdir(parents=True)
    computer.install("python", "")
    (computer.programs / "python").rename(computer.checkout / ".venv/bin/python")
    computer.install("llvm-profdata", 'echo "just recorded" >"$4"')
    (computer.programs / "llvm-profdata").rename(merge)
    computer.install(
        "rustc",
        f"""case "$*" in
    "--print sysroot") echo "{computer.checkout}/sysroot" ;;
    *) {STAND_INS["rustc"]} ;;
esac""",
    )
    said = f'[ -z "$CARGO_ENCODED_RUSTFLAGS" ] || echo "{cargo_says}" >&2'
    computer.install("cargo", f"{said}\n{STAND_INS['cargo']}")
    computer.install("wc", "echo 14")
    return computer.call("tools/profile")


def test_what_was_recorded_takes_the_place_of_the_profile(computer: Machine) -> None:
    done = recording(computer, "Finished release profile")

    assert done.returncode == 0, done.stderr
    assert (computer.checkout / PROFILE / "engine.profdata").read_text() == "just recorded\n"
    assert not (computer.checkout / ".cache/profile").exists()


def test_counts_of_other_sources_are_told_and_not_kept(computer: Machine) -> None:
    mismatch = "warning: sim: function control flow change detected (hash mismatch) run_with"
    done = recording(computer, mismatch)

    assert done.returncode == 1
    assert mismatch in done.stderr
    assert "cargo clean, then again" in done.stderr
    kept = (computer.checkout / PROFILE / "engine.profdata").read_bytes()
    assert kept == (ROOT / PROFILE / "engine.profdata").read_bytes()
