"""Times between readings, as loops in a shell print them."""

from __future__ import annotations

import pytest

from netstudy.formats.instants import first_line, instant_s, sections
from netstudy.formats.measured import FormatError
from netstudy.formats.proc_net import FORMAT
from tests.formats.hosts import at, read, run


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("1795952788", 1795952788),
        ("1795952788.354768854", 1795952788.354768854),
        ("1795952788,354768854", 1795952788.354768854),
        ("# 1795952788", 1795952788),
        ("2026-11-29T11:46:28Z", at("2026-11-29 11:46:28")),
        ("2026-11-29T12:46:28+01:00", at("2026-11-29 11:46:28")),
        ("2026-11-29 11:46:28.5 UTC", at("2026-11-29 11:46:28") + 0.5),
        ("Sun Nov 29 11:46:28 UTC 2026", at("2026-11-29 11:46:28")),
        ("Sun Nov 29 11:46:28 PM UTC 2026", at("2026-11-29 23:46:28")),
        ("Sun Nov 29 12:46:28 AM UTC 2026", at("2026-11-29 00:46:28")),
        ("Tue Dec  1 11:46:28 UTC 2026", at("2026-12-01 11:46:28")),
    ],
)
def test_times_of_date_are_known(line: str, seconds: float) -> None:
    assert instant_s(line) == pytest.approx(seconds, abs=1e-6)
    assert first_line(f"\n{line}\nTcp: InSegs\n".encode()) == "Tcp: InSegs"


@pytest.mark.parametrize("form", ["+%s", "+%s.%N", "-Is", "-Ins", "+%FT%TZ", None])
def test_the_outputs_of_the_installed_date_are_times(form: str | None) -> None:
    command = ["date", "-u", "-d", "@1795952788", *([form] if form else [])]
    assert instant_s(run(*command).decode()) == 1795952788


@pytest.mark.parametrize(
    "line",
    [
        "Sun Nov 29 12:46:28 CET 2026",
        "2026-11-29 12:46:28",
    ],
)
def test_a_local_time_is_refused_with_the_command(line: str) -> None:
    text = f"{line}\nTcp: InSegs\nTcp: 5\n"
    with pytest.raises(FormatError, match=r"line 1: the zone .* date \+%s.%N"):
        read(FORMAT, text)


@pytest.mark.parametrize("line", ["", "12345", "Tcp: 5", "1795952788 5", "#kernel", "2026-11-29"])
def test_other_lines_are_no_times(line: str) -> None:
    assert instant_s(line) is None


def test_a_time_belongs_to_the_text_after_it() -> None:
    text = "a\n1795952788\nb\nc\n\n1795952789\n\n1795952790\nd\n"
    assert list(sections(text)) == [(None, "a\n"), (1795952788, "b\nc\n\n"), (1795952790, "d\n")]
