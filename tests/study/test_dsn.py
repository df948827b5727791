"""Databases that a study names: what is read of a DSN, and what is refused of it."""

from __future__ import annotations

import re

import pytest

from netstudy.study.dsn import Dsn, postgresql_dsn


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://trade@/trade?host=/run/PG", Dsn("/run/PG", 5432, "trade", "trade")),
        ("postgres://a%40b@%2Frun%2FPG:6000/x%20y", Dsn("/run/PG", 6000, "a@b", "x y")),
        ("postgresql://u@db.example.org/d", Dsn("db.example.org", 5432, "u", "d")),
        ("postgresql://u@[2001:db8::1]:5433/d", Dsn("2001:db8::1", 5433, "u", "d")),
        ("postgresql:///?host=/s&port=1&user=u&dbname=d", Dsn("/s", 1, "u", "d")),
    ],
)
def test_a_dsn_is_read(text: str, expected: Dsn) -> None:
    assert postgresql_dsn(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("postgresql://u:hush@/d?host=/s", "contains a password"),
        ("postgresql://u:@/d?host=/s", "contains a password"),
        ("postgresql://u@/d?host=/s&password=hush", "contains a password"),
        ("postgresql://u@/d?host=/s&passfile=/p", "has passfile; only host, port"),
        ("postgresql://u@/d?host=/s&sslmode=require", "has sslmode; only host, port"),
        ("postgresql://u@one/d?host=two", "names host twice"),
        ("postgresql://u@one,two/d", "names several hosts"),
        ("postgresql://u@/d", "has no host"),
        ("postgresql://host/d", "has no user"),
        ("postgresql://u@host", "has no dbname"),
        ("postgresql://u@host:0/d", 'has the port "0"'),
        ("host=/s user=u dbname=d password=hush", "is not a PostgreSQL URI"),
        ("mysql://u@host/d", "is not a PostgreSQL URI"),
    ],
)
def test_what_is_unsafe_or_not_read_is_refused_by_name(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        postgresql_dsn(text)
    assert "hush" not in str(error.value)
