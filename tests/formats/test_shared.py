"""Shared parts of all formats: JSON as tools write it, numbers, times, and laws."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from netstudy.formats import laws
from netstudy.formats.clock import iso_s, mail_s
from netstudy.formats.json_text import (
    NotFinite,
    Repeated,
    document,
    documents,
    number,
    objects,
    whole,
)
from netstudy.formats.measured import FormatError
from netstudy.formats.numbers import decimal, half_a_digit, scaled
from netstudy.formats.plain_text import text_of


def test_a_repeated_key_has_all_its_values() -> None:
    found = document('{"sum": {"bytes": 1}, "end": 2, "sum": {"bytes": 3}}')
    assert found["sum"] == Repeated(({"bytes": 1}, {"bytes": 3}))
    assert found["end"] == 2
    with pytest.raises(FormatError, match=r"intervals\[0\].sum: a key with 2 values stands here"):
        number(found, "sum", "intervals[0]")


def test_a_number_that_is_not_finite_is_left_out_by_name() -> None:
    found = document('{"say": "-nan \\" inf", "a": -nan, "b": inf, "c": NaN, "d": 1e999, "e": 5}')
    assert found["say"] == '-nan " inf'
    assert found["a"] == NotFinite("-nan")
    notes: list[str] = []
    values = {key: number(found, key, "end", notes) for key in "abcde"}
    assert values == {"a": None, "b": None, "c": None, "d": None, "e": 5}
    assert notes[0] == "end.a is left out: its value is -nan, which is not a finite number."
    assert [note.split()[0] for note in notes] == ["end.a", "end.b", "end.c", "end.d"]


def test_documents_follow_one_another() -> None:
    assert documents('{"a": 1}\n\n{"a": 2}[]') == [{"a": 1}, {"a": 2}, []]
    with pytest.raises(FormatError, match="has 2 documents of JSON, one is expected"):
        document("{} {}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the file is empty"),
        ('{"a": 1,\n "b": [1, 2', "line 2, column 12: the file was cut off"),
        ('{"a": "b', "line 1, column 7: the file was cut off"),
        ('{"a": 1}\n{"b"', "the document that begins at line 2, column 1 does not end"),
        ('{"user": 1,50, "nice": 0,00}', "line 1, column 12: a number with a decimal comma"),
        ('{"a": 1}\nhello', "line 2, column 1: this is not JSON"),
        ("[" * 100_000, "line 1, column 1: the document is nested too deeply"),
        ("1" * 5000, "line 1, column 1: Exceeds the limit"),
    ],
)
def test_text_that_is_not_json_is_refused_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(FormatError) as error:
        documents(text)
    assert reason in str(error.value)


def test_a_member_of_another_kind_is_refused_with_its_path() -> None:
    of = document('{"n": "5", "flag": true, "list": [{}, 3], "whole": 1.5}')
    with pytest.raises(FormatError, match=r"end\.n: a text stands here, a number is expected"):
        number(of, "n", "end")
    with pytest.raises(FormatError, match="flag: true or false stands here, a number is expected"):
        number(of, "flag", "")
    with pytest.raises(FormatError, match=r"list\[1\]: a number stands here, an object is"):
        objects(of, "list", "")
    with pytest.raises(FormatError, match="whole: a number stands here, a whole number is"):
        whole(of, "whole", "")


@pytest.mark.parametrize("text", ["1_000", "nan", "٣", "0x10", "", "1.2.3", "1e999", "9" * 400])
def test_a_number_of_python_that_is_none_of_c_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="line 3"):
        decimal(text, "line 3")


def test_a_decimal_comma_is_refused_with_the_command_that_avoids_it() -> None:
    with pytest.raises(FormatError, match='"1,5" has a decimal comma; make the file with LC_ALL=C'):
        decimal("1,5", "line 3")


def test_a_number_has_its_unit_and_its_last_digit() -> None:
    assert scaled("1.5", "ms", {"us": 1e-3, "ms": 1.0}, "line 1") == 1.5
    assert [half_a_digit(text) for text in ("59.6", "4696000", "1.5e3")] == [0.05, 0.5, 50]
    with pytest.raises(FormatError, match='"h" is not a unit that is known here; known are us, ms'):
        scaled("1.5", "h", {"us": 1e-3, "ms": 1.0}, "line 1")


def test_times_are_in_utc() -> None:
    since = 1795854260
    assert mail_s("Sat, 28 Nov 2026 08:24:20 GMT", "line 1") == since
    assert iso_s("2026-11-28T08:24:20Z", "line 1") == since
    assert iso_s("2026-11-28 09:24:20.25+01:00", "line 1") == since + 0.25
    assert iso_s("2026-11-28 09:24:20", "line 1", ZoneInfo("Europe/Berlin")) == since


@pytest.mark.parametrize("text", ["28/11/2026 08:24:20", "2026-13-28T08:24:20Z", "08:24:20 AM"])
def test_a_time_that_could_be_several_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="line 1"):
        iso_s(text, "line 1")


def test_a_local_time_without_its_zone_is_refused() -> None:
    with pytest.raises(FormatError, match="a local time, and the file does not say of which zone"):
        iso_s("2026-11-28 09:24:20", "line 1")


def test_bytes_that_are_not_text_are_refused_with_their_line() -> None:
    with pytest.raises(FormatError, match="line 2: the file is not text in UTF-8"):
        text_of(b"one\ntwo \xff")


def test_what_was_sent_and_not_lost_is_received() -> None:
    kept = laws.received_is_sent_less_lost(1000, 0.57, 430, unit="packets", tolerance=1)
    assert kept.holds
    broken = laws.received_is_sent_less_lost(1000, 0, 430, unit="packets", tolerance=1)
    assert not broken.holds
    assert broken.detail == (
        "1,000 packets were sent and 0 % of them were lost, as the file says, so that 1,000 "
        "arrive; it says that 430 were received, which is a loss of 57 % (give or take 1)"
    )


def test_parts_add_up_within_the_digits_of_the_file() -> None:
    assert laws.add_up("law", [1, 2, 3], "bytes", ("the total is", 6.4), 0.5).holds
    broken = laws.add_up("law", [1, 2, 3], "bytes of streams", ("the total is", 7), 0.5)
    assert not broken.holds
    assert broken.detail == "the sum of 3 bytes of streams is 6, the total is 7 (give or take 0.5)"


def test_bytes_by_time_are_the_rate() -> None:
    assert laws.rate_is_bytes_by_time("all", 125, 1, 1000, tolerance=0.1).holds
    assert not laws.rate_is_bytes_by_time("all", 125, 2, 1000, tolerance=0.1).holds
    assert not laws.rate_is_bytes_by_time("all", 1e308, 1e-9, 1000, tolerance=0.1).holds


def test_shares_and_percentiles_have_an_order() -> None:
    assert laws.is_a_share("loss", 100).holds
    assert not laws.is_a_share("loss", 119.3).holds
    assert laws.ascending("order", [("p50", 1), ("p90", 1), ("p99", 2)]).holds
    broken = laws.ascending("order", [("p50", 1), ("p90", 3), ("p99", 2)])
    assert not broken.holds
    assert broken.detail == "p99 is 2, p90 is 3"
