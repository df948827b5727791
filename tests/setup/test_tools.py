"""What `make test` is made of: the programs it installs, the lints it insists on, its last line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.setup.checkout import Machine

ROOT, USER = "echo 0", "echo 1000"
LISTS_ARE_STALE = '[ "$1" = update ] && touch updated; [ -e updated ]'


class TestPrograms:
    """`tools/programs`: Chromium to open reports, iperf3, iproute2, curl, vsftpd, snmp for real
    traffic, nginx, wrk and PostgreSQL for transactions, sysstat beside the probes."""

    def test_root_gets_it_from_debians_packages(self, computer: Machine) -> None:
        computer.install("id", ROOT)
        computer.install("apt-get", "")

        assert computer.call("tools/programs").returncode == 0
        assert [call for call in computer.calls() if "install" in call and "chromium" in call]

    def test_the_lists_are_fetched_only_when_the_first_try_fails(self, computer: Machine) -> None:
        computer.install("id", ROOT)
        computer.install("apt-get", LISTS_ARE_STALE)

        assert computer.call("tools/programs").returncode == 0
        words = [call.split()[1] for call in computer.calls() if call.startswith("apt-get")]
        assert words == ["install", "update", "install"]

    def test_what_cannot_be_installed_is_said_and_stops_nothing(self, computer: Machine) -> None:
        computer.install("id", ROOT)
        computer.install("apt-get", "echo no network; exit 100")

        done = computer.call("tools/programs")

        assert done.returncode == 0
        assert "no network" in done.stdout
        assert "skipped" in done.stdout

    def test_an_ordinary_user_is_told_the_command(self, computer: Machine) -> None:
        computer.install("id", USER)
        computer.install("apt-get", "exit 100")

        assert "sudo apt-get install chromium" in computer.call("tools/programs").stdout
        assert not [call for call in computer.calls() if call.startswith("apt-get")]

    def test_it_is_not_installed_twice(self, computer: Machine) -> None:
        programs = "chromium iperf3 ip curl vsftpd snmpd snmpbulkwalk nginx wrk sadf initdb"
        for program in programs.split():
            computer.install(program, "")
        computer.install("apt-get", "exit 100")

        assert computer.call("tools/programs").stdout == ""
        assert computer.calls() == []


@pytest.mark.parametrize(
    ("release", "insists"),
    [("1.88.0", True), ("1.95.1", True), ("1.96.0", False), ("2.0.0", False)],
)
def test_lints_of_a_later_rust_stop_nobody(computer: Machine, release: str, insists: bool) -> None:
    computer.install("cargo", f'echo "cargo {release}"')

    assert computer.call("tools/clippy").returncode == 0
    lints = next(call for call in computer.calls() if "clippy" in call)
    assert lints.endswith("-D warnings") is insists


class TestTotals:
    """`tools/tests`: every test of both languages, those that were skipped, and their sum."""

    RUST = "echo 'test result: ok. 30 passed; {failed} failed; 0 ignored; finished in 0.01s'"
    PYTHON = "echo '==== {outcome}1 skipped, 7 deselected in 3.21s (0:00:03) ===='"

    def totals(self, computer: Machine, rust: str, python: str) -> tuple[str, int]:
        """The last line, and the exit code."""
        *_, last = self.printed(computer, rust, python)
        return last, self.status

    def printed(
        self, computer: Machine, rust: str, python: str, folders: tuple[str, ...] = ("study",)
    ) -> list[str]:
        """Every line."""
        for folder in folders:
            (computer.checkout / "tests" / folder).mkdir(parents=True)
        computer.install("cargo", rust)
        (computer.checkout / ".venv/bin").mkdir(parents=True)
        self.write(computer.checkout / ".venv/bin/python", python)
        first = computer.call("tools/tests", "rust")
        assert first.returncode == 0, "what failed is told behind Python's tests"
        done = computer.call("tools/tests", "python")
        self.status = done.returncode
        return [*first.stdout.splitlines(), *done.stdout.splitlines()]

    @staticmethod
    def write(path: Path, script: str) -> None:
        """Put a program there."""
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def test_both_languages_are_added_up(self, computer: Machine) -> None:
        rust, python = self.RUST.format(failed=0), self.PYTHON.format(outcome="12 passed, ")

        assert self.totals(computer, f"{rust}\n{rust}", python) == ("72 passed, 0 failed", 0)

    def test_a_failure_in_rust_does_not_hide_those_in_python(self, computer: Machine) -> None:
        rust = self.RUST.format(failed=1) + "; exit 101"
        python = self.PYTHON.format(outcome="2 failed, 12 passed, 1 error, ") + "; exit 1"

        assert self.totals(computer, rust, python) == ("42 passed, 4 failed", 1)

    def test_tests_that_do_not_compile_fail(self, computer: Machine) -> None:
        rust, python = "echo 'error: no such crate'; exit 101", self.PYTHON.format(outcome="")

        assert self.totals(computer, rust, python) == ("0 passed, 1 failed", 1)

    def test_tests_that_were_skipped_are_named_and_have_not_passed(self, computer: Machine) -> None:
        rust = (
            "echo; echo 'skipped: tests/namespace.rs::a_namespace - not permitted' >&2; "
            + self.RUST.format(failed=0)
        )
        python = (
            "echo 'SKIPPED tests/test_page.py::test_a_page - no browser'; "
            + self.PYTHON.format(outcome="12 passed, ")
        )

        assert self.printed(computer, rust, python)[-4:] == [
            "  skipped here, 2 tests:",
            "    tests/namespace.rs::a_namespace - not permitted",
            "    tests/test_page.py::test_a_page - no browser",
            "41 passed, 0 failed",
        ]

    def test_tests_that_keep_to_times_come_alone_after_all_others(self, computer: Machine) -> None:
        outcome = self.PYTHON.format(outcome="1 passed, ")
        python = f'echo "$*" >>"$(dirname "$0")/calls"; {outcome}'
        folders = ("cli", "study", "testbed", "wire")

        *_, last = self.printed(computer, self.RUST.format(failed=0), python, folders)

        calls = (computer.checkout / ".venv/bin/calls").read_text().splitlines()
        *at_once, alone = [call.split(" not slow ")[1] for call in calls]
        assert alone == "tests/testbed/"
        assert sorted(at_once) == ["tests/cli/", "tests/study/ tests/wire/"]
        assert last == "33 passed, 0 failed"
