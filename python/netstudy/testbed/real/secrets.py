"""Communities and passwords. They are read only when they are needed, from the variable or file
that the plan names."""

from __future__ import annotations

import os
import re
from pathlib import Path

from netstudy.errors import TestbedError
from netstudy.wire import ExistingDatabase, SecretSource


def secret(source: SecretSource, what: str) -> str:
    """The secret from the given variable or file. Raises TestbedError, which names this place, if
    the secret is missing."""
    if source.env is not None:
        found = os.environ.get(source.env)
        if not found:
            raise TestbedError(f"the environment variable {source.env} with {what} is not set")
        return found
    assert source.file is not None, "a source is a variable or a file"
    try:
        lines = Path(source.file).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise TestbedError(f"the file {source.file} with {what} cannot be read: {why}") from error
    if not lines or not lines[0]:
        raise TestbedError(
            f"the first line of the file {source.file} should be {what}: it is empty"
        )
    return lines[0]


def password_of(database: ExistingDatabase) -> str | None:
    """The password of a database role; None: the server does not ask for a password. Raises
    TestbedError if the password is missing, or its file is readable by others."""
    source = database.password
    if source is None:
        return None
    what = f"the password of {database.user}"
    if source.env is not None:
        return secret(SecretSource(env=source.env), what)
    assert source.pgpass is not None, "a source is a variable or a file"
    path = Path(source.pgpass)
    try:
        if path.stat().st_mode & 0o077:
            raise TestbedError(f"the file {path} with {what} is open to others: chmod 600 {path}")
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise TestbedError(f"the file {path} with {what} cannot be read: {why}") from error
    for line in lines:
        *names, found = [*_fields(line), *[""] * 5][:5]
        if found and not line.startswith("#") and _is_of(names, database):
            return found
    raise TestbedError(f"no line of {path} has {what} at {database.host}:{database.port}")


def _is_of(names: list[str], database: ExistingDatabase) -> bool:
    """Whether a line of a password file applies to a database. The first line that does is used."""
    hosts = {database.host, *(["localhost"] if database.host.startswith("/") else [])}
    wanted = (hosts, {str(database.port)}, {database.database}, {database.user})
    return all(name == "*" or name in one for name, one in zip(names, wanted, strict=True))


def _fields(line: str) -> list[str]:
    """The fields of a line. In a field, a colon or a backslash has a backslash before it (libpq,
    "The Password File")."""
    return [re.sub(r"\\(.)", r"\1", one) for one in re.findall(r"((?:\\.|[^:\\])*)(?::|$)", line)]
