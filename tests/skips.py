"""Tests of what a machine, or the user who tests, may not have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from netstudy.errors import TestbedError
from netstudy.testbed.netns.sandbox import may_make_namespaces

in_namespaces = pytest.mark.skipif(
    not may_make_namespaces(),
    reason="needs root, with the right to make namespaces (CAP_SYS_ADMIN, CAP_NET_ADMIN)",
)
"""A test that makes namespaces."""


@contextmanager
def or_skip() -> Iterator[None]:
    """Skips the test when a testbed cannot do what the block asks for, with the reason."""
    try:
        yield
    except TestbedError as error:
        pytest.skip(str(error))
