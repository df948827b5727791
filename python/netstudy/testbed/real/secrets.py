"""Communities and passwords: found where a plan says they are, when they are used."""

from __future__ import annotations

import os
from pathlib import Path

from netstudy.errors import TestbedError
from netstudy.wire import SecretSource


def secret(source: SecretSource, what: str) -> str:
    """The secret. Raises TestbedError with the variable or file where it is not there."""
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
