from __future__ import annotations

from pathlib import Path

import pytest

from tests.setup.checkout import Machine, machine


@pytest.fixture
def computer(tmp_path: Path) -> Machine:
    """A machine that has all prerequisites, with a checkout that was never set up."""
    return machine(tmp_path)
