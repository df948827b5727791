"""A CSV file whose columns a study names."""

import random

import pytest

from netstudy.formats.csv_table import Column, DamagedLine, Row, Value, read_table, text_table
from netstudy.formats.measured import FormatError

NUMBERS = {"clients": Column("text"), "goodput_mbps": Column(), "rtt_ms": Column()}


def table(*lines: str) -> tuple[Row, ...]:
    return read_table("\n".join(lines).encode(), NUMBERS)


def test_rows_have_their_line_their_texts_and_their_numbers_with_a_rounding() -> None:
    rows = table("clients,goodput_mbps,rtt_ms,note", "", "1,941.5,1.25,", '"2",9.4e2,-,again')

    assert rows == (
        Row(3, {"goodput_mbps": Value(941.5, 0.1), "rtt_ms": Value(1.25, 0.01)}, {"clients": "1"}),
        Row(4, {"goodput_mbps": Value(940.0, 10.0)}, {"clients": "2"}),
    )


@pytest.mark.parametrize("text", ["", "-", "–", "—", "  "])
def test_a_field_without_a_value_is_missing_and_not_0(text: str) -> None:
    (row,) = table("clients,goodput_mbps,rtt_ms", f"1,5,{text}")

    assert "rtt_ms" not in row.values


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('"1,5"', 'goodput_mbps "1,5" has a comma; write a decimal point'),
        ('"1,500"', 'goodput_mbps "1,500" has a comma; write a decimal point'),
        ('"1,500.25"', 'goodput_mbps "1,500.25" has separators between thousands'),
        ('"1,500,000"', "has separators between thousands"),
        ("1 500", 'goodput_mbps "1 500" has separators between thousands'),
        ("1'500.5", "has separators between thousands"),
        ("1_500", 'goodput_mbps "1_500" has separators between thousands'),
        ("1.500.000", "is not a number"),
        ("-nan", 'goodput_mbps "-nan" is not a number; leave missing values empty'),
        ("inf", "is not a number"),
        ("1e400", "is too large a number"),
        ("٣", "is not a number"),
        ("941 Mbit/s", "is not a number"),
    ],
)
def test_a_text_that_is_no_number_is_refused_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(FormatError, match="line 3 ") as caught:
        table("clients,goodput_mbps,rtt_ms", "1,5,1", f"2,{text},1")
    assert reason in str(caught.value)


def test_all_mistakes_of_a_file_are_named_at_once() -> None:
    with pytest.raises(FormatError) as caught:
        table("clients,goodput_mbps,rtt_ms,rtt_ms", "1,5", "2,x,1,1", "3,y,1,1")
    assert str(caught.value) == (
        'line 1 the column "rtt_ms" occurs twice; '
        "line 2 has 2 fields where the first line names 4; "
        'line 3 goodput_mbps "x" is not a number; leave missing values empty; '
        'line 4 goodput_mbps "y" is not a number; leave missing values empty'
    )


def test_a_missing_column_is_named_with_those_that_the_file_has() -> None:
    with pytest.raises(FormatError, match='has no column "rtt_ms"; it has clients, goodput_mbps'):
        table("clients,goodput_mbps", "1,2")


def test_a_value_that_the_study_requires_is_missed_by_name() -> None:
    with pytest.raises(FormatError, match="line 2 has no clients"):
        read_table(b"clients,x\n,1\n", {"clients": Column("text", required=True)})


def test_another_separator_than_a_comma_is_named() -> None:
    with pytest.raises(DamagedLine, match="line 1 has ';' between its columns instead of a comma"):
        table("clients;goodput_mbps;rtt_ms", "1;5,2;1")


def test_a_quote_that_does_not_end_is_a_mistake_of_its_line() -> None:
    with pytest.raises(DamagedLine) as caught:
        table("clients,goodput_mbps,rtt_ms", "1,5,1", '2,"5,1')
    assert caught.value.line == 3


def test_a_field_may_have_several_lines() -> None:
    rows = table('clients,goodput_mbps,rtt_ms,"a', 'note"', "1,5,1,x")

    assert [row.line for row in rows] == [3]


def test_bytes_that_are_no_text_are_refused_with_their_line() -> None:
    with pytest.raises(FormatError, match="line 2 is not text in UTF-8"):
        text_table(b"a,b\n1,\xff\n")


def test_mutated_tables_are_refused_or_have_finite_values() -> None:
    whole = "clients,goodput_mbps,rtt_ms\n" + "".join(
        f"{n},{900 + n / 10},{n / 7:.3f}\n" for n in range(20)
    )
    rng = random.Random(7)
    for _ in range(500):
        data = bytearray(whole.encode())
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.choice(b'0123456789,.;"\n-eE x\xff')
        try:
            rows = read_table(bytes(data), NUMBERS)
        except FormatError:
            continue
        for row in rows:
            for value in row.values.values():
                assert abs(value.value) < float("inf"), bytes(data)
