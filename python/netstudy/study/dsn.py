"""Reads the address of a database: a libpq URI with only the parts that a study may contain.

Studies, plans and records are copied to other places, so the address must not contain a password.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

PORT: Final = 5432
EXAMPLE: Final = "postgresql://trade@/trade?host=/run/postgresql"


@dataclass(frozen=True)
class Dsn:
    """A database of a PostgreSQL server."""

    host: str
    """An address, or the folder of the server's Unix socket."""
    port: int
    user: str
    database: str


def postgresql_dsn(text: str) -> Dsn:
    """The parts of a DSN. Raises ValueError with advice on the right form."""
    url = urlsplit(text)
    if url.scheme not in ("postgresql", "postgres"):
        raise ValueError(f"is not a PostgreSQL URI such as {EXAMPLE}")
    named = dict(parse_qsl(url.query, keep_blank_values=True))
    user, is_known, _password = url.netloc.rpartition("@")[0].partition(":")
    if is_known or "password" in named:
        raise ValueError(
            "contains a password, which would be copied to the plan and the records; leave it out "
            "and write where it is: password: {env: VARIABLE} or password: {pgpass: /path}"
        )
    given = {
        "host": _host(url.netloc),
        "port": _port(url.netloc),
        "user": unquote(user),
        "dbname": unquote(url.path.removeprefix("/")),
    }
    # libpq takes each value from the address or from the query. If both give the same one, it is
    # unclear which of them is meant, so this is refused.
    for name, value in named.items():
        if name not in given:
            raise ValueError(f"has {name}; only host, port, user and dbname are supported")
        if given[name]:
            raise ValueError(f"names {name} twice")
        given[name] = value
    for name in ("host", "user", "dbname"):
        if not given[name]:
            raise ValueError(f"has no {name}; a complete address is {EXAMPLE}")
    if "," in given["host"]:
        raise ValueError("names several hosts; the brokerage can use only one")
    return Dsn(given["host"], _number(given["port"] or str(PORT)), given["user"], given["dbname"])


def _host(netloc: str) -> str:
    """The host as written: `urlsplit(…).hostname` would turn a folder's name into lower case."""
    place = netloc.rpartition("@")[2]
    if place.startswith("["):
        return place[1:].partition("]")[0]
    return unquote(place.partition(":")[0])


def _port(netloc: str) -> str:
    return netloc.rpartition("@")[2].rpartition("]")[2].partition(":")[2]


def _number(port: str) -> int:
    if not port.isdecimal() or not 1 <= int(port) <= 65_535:
        raise ValueError(f'has the port "{port}", which is not a number from 1 to 65535')
    return int(port)
