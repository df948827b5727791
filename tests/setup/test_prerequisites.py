"""What is missing or unfit is named with the command that installs it; nothing is written."""

from __future__ import annotations

import pytest

from tests.setup.checkout import Machine

OLD_CARGO = 'echo "cargo 1.63.0"'
OLD_PYTHON = 'echo "Python 3.9.2"'
NO_ENSUREPIP = """
case "$*" in
    --version) echo "Python 3.11.2" ;;
    *ensurepip*) exit 1 ;;
esac"""
NO_LIBC_FILES = "echo crt1.o"
"""What gcc answers where libc6-dev is not installed: the bare name, not a path."""


def refusal(computer: Machine, target: str = "build") -> str:
    """What make says; holds that it failed and left the checkout as it was."""
    before = computer.files()
    made = computer.make(target)
    assert made.returncode != 0
    assert computer.files() == before
    return made.stderr


@pytest.mark.parametrize(
    ("program", "named", "command"),
    [
        ("cc", "a C compiler", "install"),
        ("cargo", "Rust >= ", "https://sh.rustup.rs"),
        ("python3", "Python >= 3.11", "install"),
    ],
)
def test_an_absent_program_is_named(
    computer: Machine, program: str, named: str, command: str
) -> None:
    computer.remove(program)

    said = refusal(computer)

    assert named in said
    assert command in said


@pytest.mark.parametrize(
    ("program", "stand_in", "named"),
    [
        ("cargo", OLD_CARGO, "cargo is 1.63"),
        ("cargo", "exit 1", "a Rust toolchain"),
        ("python3", OLD_PYTHON, "python3 is 3.9"),
        ("python3", NO_ENSUREPIP, "python3-venv"),
        ("cc", NO_LIBC_FILES, "libc6-dev"),
    ],
)
def test_an_unfit_program_is_named(
    computer: Machine, program: str, stand_in: str, named: str
) -> None:
    computer.install(program, stand_in)

    assert named in refusal(computer)


def test_a_rustup_that_is_there_is_asked_to_update(computer: Machine) -> None:
    computer.install("cargo", OLD_CARGO)
    computer.install("rustup", "")

    assert "rustup update stable" in refusal(computer)


def test_debian_is_told_its_packages(computer: Machine) -> None:
    computer.install("apt-get", "")
    computer.install("python3", NO_ENSUREPIP)

    assert "apt-get install python3-venv" in refusal(computer)


def test_everything_missing_is_named_at_once(computer: Machine) -> None:
    for program in ("cc", "cargo", "python3"):
        computer.remove(program)

    said = refusal(computer)

    assert "C compiler" in said
    assert "Rust" in said
    assert "Python" in said


def test_the_checks_need_rustfmt_and_clippy(computer: Machine) -> None:
    computer.install("cargo", '[ "$1" = --version ] && echo "cargo 1.99.0"')

    assert "rustup component add rustfmt clippy" in refusal(computer, "check")


def test_an_unfit_python_does_not_hide_a_fit_one(computer: Machine) -> None:
    computer.install("python3.12", (computer.programs / "python3").read_text())
    computer.install("python3", OLD_PYTHON)

    assert computer.make("build").returncode == 0
