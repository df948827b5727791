"""Tests of what a machine, or the user who tests, may not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from netstudy.errors import TestbedError
from netstudy.testbed.netns.namespaces import find_program
from netstudy.testbed.netns.sandbox import may_make_namespaces

in_namespaces = pytest.mark.skipif(
    not may_make_namespaces(),
    reason="needs root, with the right to make namespaces (CAP_SYS_ADMIN, CAP_NET_ADMIN)",
)
"""A test that makes namespaces."""


def needs_programs(packages: Mapping[str, str]) -> pytest.MarkDecorator:
    """A test that needs each of these programs; the values are the Debian packages that have
    them."""
    lacking = [name for name in packages if find_program(name) is None]
    install = " ".join(packages.values())
    return pytest.mark.skipif(
        bool(lacking), reason=f"needs {', '.join(lacking)}; install: apt-get install {install}"
    )


@contextmanager
def or_skip() -> Iterator[None]:
    """Skips the test when a testbed cannot do what the block asks for, with the reason."""
    try:
        yield
    except TestbedError as error:
        pytest.skip(str(error))
