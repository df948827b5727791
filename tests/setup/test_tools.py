"""What `make test` is made of: the programs it installs, the lints it insists on, its last line."""

from __future__ import annotations

import subprocess

import pytest

from tests.setup.checkout import Machine

ROOT, USER = "echo 0", "echo 1000"
LISTS_ARE_STALE = '[ "$1" = update ] && touch updated; [ -e updated ]'


class TestPrograms:
    """`tools/programs`: Chromium to open reports, iperf3, iproute2, curl, vsftpd, snmp for real
    traffic, nginx, wrk and PostgreSQL for transactions, sysstat beside the probes, openssh-server
    and nftables for hosts over SSH, ping and netstat for their formats."""

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
        programs = (
            "chromium iperf3 ip curl vsftpd snmpd snmpbulkwalk nginx wrk sadf sshd nft "
            "ping netstat initdb"
        )
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


class TestTests:
    """`tools/tests`: every test of both languages, those that were skipped, and their sum."""

    RUST = "echo 'test result: ok. 30 passed; {failed} failed; 0 ignored; finished in 0.01s'"
    PYTHON = "echo '==== {outcome}1 skipped, 7 deselected in 3.21s (0:00:03) ===='"
    ALL_WELL = PYTHON.format(outcome="12 passed, ")

    def called(
        self, computer: Machine, *arguments: str, rust: str = "", python: str = ALL_WELL
    ) -> subprocess.CompletedProcess[str]:
        """Call it on a machine whose cargo and Python are these scripts."""
        computer.install("cargo", rust or self.RUST.format(failed=0))
        computer.install("python", python)
        place = computer.checkout / ".venv/bin/python"
        place.parent.mkdir(parents=True)
        (computer.programs / "python").rename(place)
        return computer.call("tools/tests", *arguments)

    @staticmethod
    def total(done: subprocess.CompletedProcess[str]) -> tuple[str, int]:
        """The last line, and the exit code."""
        return done.stdout.splitlines()[-1], done.returncode

    @staticmethod
    def marks(computer: Machine) -> list[str]:
        """Which tests each call of pytest chooses."""
        calls = [call for call in computer.calls() if "pytest" in call]
        return [call.partition(" -m ")[2].partition(" -m ")[2].strip() for call in calls]

    def test_both_languages_are_added_up(self, computer: Machine) -> None:
        rust = self.RUST.format(failed=0)

        done = self.called(computer, rust=f"{rust}\n{rust}")

        assert self.total(done) == ("84 passed, 0 failed", 0)

    def test_a_failure_in_rust_does_not_hide_those_in_python(self, computer: Machine) -> None:
        rust = self.RUST.format(failed=1) + "; exit 101"
        python = self.PYTHON.format(outcome="2 failed, 12 passed, 1 error, ") + "; exit 1"

        done = self.called(computer, rust=rust, python=python)

        assert self.total(done) == ("54 passed, 7 failed", 1)

    def test_tests_that_do_not_compile_fail(self, computer: Machine) -> None:
        rust, python = "echo 'error: no such crate'; exit 101", self.PYTHON.format(outcome="")

        done = self.called(computer, rust=rust, python=python)

        assert self.total(done) == ("0 passed, 1 failed", 1)

    def test_tests_that_were_skipped_are_named_and_have_not_passed(self, computer: Machine) -> None:
        rust = (
            "echo; echo 'skipped: tests/it/namespace.rs::a_namespace - not permitted' >&2; "
            + self.RUST.format(failed=0)
        )
        python = (
            """case "$*" in *"and quiet"*) exit 5 ;; esac
            echo 'SKIPPED tests/test_page.py::test_a_page - no browser'; """
            + self.ALL_WELL
        )

        done = self.called(computer, rust=rust, python=python)

        assert done.stdout.splitlines()[-4:] == [
            "  skipped here, 2 tests:",
            "    tests/it/namespace.rs::a_namespace - not permitted",
            "    tests/test_page.py::test_a_page - no browser",
            "41 passed, 0 failed",
        ]

    def test_that_no_test_has_a_mark_is_no_failure(self, computer: Machine) -> None:
        python = f"""case "$*" in *"and quiet"*) exit 5 ;; esac; {self.ALL_WELL}"""

        assert self.total(self.called(computer, python=python)) == ("42 passed, 0 failed", 0)

    def test_tests_that_keep_to_times_come_alone_after_all_others(self, computer: Machine) -> None:
        self.called(computer)

        together, alone = self.marks(computer)
        assert together.startswith("(not slow) and not quiet --numprocesses=")
        assert alone == "(not slow) and quiet tests"

    def test_the_quick_ones_need_no_engine_and_find_none(self, computer: Machine) -> None:
        python = f'echo "$NETSTUDY_ENGINE"; {self.ALL_WELL}'

        done = self.called(computer, "--quick", python=python)

        assert "/dev/null" in done.stdout
        calls = computer.calls()
        assert not [call for call in calls if call.startswith("cargo")]
        assert all("(not slow and not engine) and" in call for call in calls if "pytest" in call)

    def test_the_changed_ones_are_chosen_by_the_layers(self, computer: Machine) -> None:
        chosen = r"""echo "crates='-p netstudy-tcp' paths='tests/a tests/b' marks='not slow'" """
        python = f"""case "$*" in *tools.changed*) {chosen} ;; *) {self.ALL_WELL} ;; esac"""

        self.called(computer, "--changed", "HEAD~2", python=python)

        calls = computer.calls()
        assert "python -m tools.changed HEAD~2" in calls
        assert [call for call in calls if call.startswith("cargo test --quiet -p netstudy-tcp ")]
        assert all(call.endswith("tests/a tests/b") for call in calls if "pytest" in call)

    def test_where_nothing_changed_nothing_fails(self, computer: Machine) -> None:
        done = self.called(computer, "--changed", python="""echo "crates= paths= marks=" """)

        assert self.total(done) == ("0 passed, 0 failed", 0)

    def test_an_unknown_commit_ends_it(self, computer: Machine) -> None:
        done = self.called(computer, "--changed", "nowhere", python="exit 128")

        assert done.returncode == 2
        assert "passed" not in done.stdout

    def test_an_unknown_option_is_answered_with_the_usage(self, computer: Machine) -> None:
        done = self.called(computer, "--fast")

        assert done.returncode == 2
        assert "usage: tools/tests" in done.stderr
