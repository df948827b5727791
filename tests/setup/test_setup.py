"""Set-up does what is missing, once, and recovers from every kind of half-done set-up."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.setup.checkout import Machine


def set_up(computer: Machine) -> list[str]:
    """Call `make build`, which must succeed; the calls of programs that it took."""
    computer.calls()
    made = computer.make("build")
    assert made.returncode == 0, made.stderr
    return computer.calls()


def installs(calls: list[str]) -> bool:
    """Whether the calls made a new environment with the packages of a lock."""
    return any("-m venv" in call for call in calls) and any("--require-hashes" in c for c in calls)


def builds(calls: list[str]) -> bool:
    """Whether the calls built the engine."""
    return any(call.startswith("cargo build") for call in calls)


def seen_by_cargo(computer: Machine, variable: str) -> str:
    """A variable of cargo's environment when it builds the engine."""
    computer.install(
        "cargo",
        'echo "cargo 1.99.0"; [ "$1" = build ] || exit 0; mkdir -p target/debug\n'
        f'echo "${{{variable}-unset}}" >target/debug/netstudy-engine',
    )
    set_up(computer)
    return (computer.checkout / ".venv/bin/netstudy-engine").read_text().strip()


def test_the_first_call_leaves_both_packages(computer: Machine) -> None:
    calls = set_up(computer)

    assert installs(calls)
    assert builds(calls)
    assert (computer.checkout / ".venv/bin/netstudy-engine").is_file()


def test_the_second_call_asks_python_whether_all_is_well_and_nothing_else(
    computer: Machine,
) -> None:
    set_up(computer)

    assert set_up(computer) == ["python3 -B -c import netstudy"]


def test_only_wheels_with_known_hashes_are_installed(computer: Machine) -> None:
    downloads = [call for call in set_up(computer) if "pip install" in call]

    assert all("--require-hashes" in call or "--no-deps" in call for call in downloads)
    assert all("--only-binary :all:" in call or "--no-deps" in call for call in downloads)


def test_a_failed_download_names_its_cause_and_the_next_call_starts_afresh(
    computer: Machine,
) -> None:
    broken = computer.checkout / "broken-network"
    broken.touch()
    failed = computer.make("build")
    broken.unlink()

    assert failed.returncode != 0
    assert "no route to host" in failed.stderr
    assert installs(set_up(computer))


def test_a_new_lock_makes_a_new_environment(computer: Machine) -> None:
    set_up(computer)
    append(computer.checkout / "requirements.lock", "# another resolution\n")

    calls = set_up(computer)

    assert installs(calls)
    assert not builds(calls)
    assert (computer.checkout / ".venv/bin/netstudy-engine").is_file()


def test_nothing_of_an_old_environment_stays(computer: Machine) -> None:
    set_up(computer)
    old = computer.checkout / ".venv/lib/site-packages/left.py"
    old.parent.mkdir(parents=True)
    old.touch()
    append(computer.checkout / "requirements.lock", "# another resolution\n")
    set_up(computer)

    assert not old.exists()


def test_a_linters_setting_makes_no_new_environment(computer: Machine) -> None:
    set_up(computer)
    append(computer.checkout / "pyproject.toml", "# another rule\n")

    assert not installs(set_up(computer))


def test_a_changed_source_builds_the_engine_and_leaves_python_alone(computer: Machine) -> None:
    set_up(computer)
    (computer.checkout / "crates/new.rs").touch()

    calls = set_up(computer)

    assert builds(calls)
    assert not installs(calls)


def test_a_moved_checkout_is_set_up_again(computer: Machine) -> None:
    set_up(computer)
    moved = computer.checkout.with_name("elsewhere")
    computer.checkout.rename(moved)

    assert installs(set_up(Machine(moved, computer.programs)))


def test_a_lost_environment_is_made_again(computer: Machine) -> None:
    set_up(computer)
    shutil.rmtree(computer.checkout / ".venv")

    calls = set_up(computer)

    assert installs(calls)
    assert (computer.checkout / ".venv/bin/netstudy-engine").is_file()


def test_cargo_and_pip_keep_their_downloads_in_the_checkout(computer: Machine) -> None:
    assert seen_by_cargo(computer, "CARGO_HOME") == str(computer.checkout / ".cache/cargo")


def test_a_cargo_configuration_of_the_user_still_counts(computer: Machine) -> None:
    settings = computer.checkout.parent.parent / f"{computer.checkout.parent.name}-cargo"
    settings.mkdir()
    (settings / "config.toml").write_text("[net]\noffline = false\n")
    computer.make("build", f"USER_CARGO_HOME={settings}")

    linked = computer.checkout / ".cache/cargo/config.toml"
    assert linked.read_text() == "[net]\noffline = false\n"


def test_cargo_does_not_share_makes_two_jobs(computer: Machine) -> None:
    assert seen_by_cargo(computer, "MAKEFLAGS") == "unset"


def test_the_users_home_stays_empty(computer: Machine) -> None:
    home = computer.checkout.parent
    before = {path.name for path in home.iterdir()}
    set_up(computer)

    assert {path.name for path in home.iterdir()} == before


def append(path: Path, text: str) -> None:
    """Add text to the end of a file."""
    path.write_text(path.read_text() + text)
