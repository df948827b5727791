"""A small incast study that each test changes in the one place it is about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from netstudy.errors import StudyError
from netstudy.study import Study, load

SMALL = """\
study: small
question: Which buffer suits synchronized reads?
factors:
  switch: [generic-shallow, generic-deep]
  configuration:
    - {name: 1 MB, block: 1 MB, mtu: 9000}
  servers: 1..3
topology:
  switch: "${switch}"
  client: {profile: host-10g}
  server: {profile: host-10g, count: "${servers}"}
  link: {rate: 10 Gbit/s, delay: 1 us, mtu: "${mtu}"}
workload:
  incast: {block: "${block}", iterations: 10}
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the small study with some text replaced: `write(("1..3", "1..4"))`."""

    def _write(*changes: tuple[str, str], text: str = SMALL) -> Path:
        for old, new in changes:
            assert text.count(old) == 1, f"{old!r} must stand in the study once"
            text = text.replace(old, new)
        (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
        return tmp_path

    return _write


@pytest.fixture
def small(write: Write) -> Callable[..., Study]:
    """Loads the small study with some text replaced."""
    return lambda *changes, **kwargs: load(write(*changes, **kwargs))


@pytest.fixture
def refusal(write: Write, tmp_path: Path) -> Callable[..., list[str]]:
    """What is said of the small study with some text replaced, a line a problem."""

    def _refusal(*changes: tuple[str, str], **kwargs: str) -> list[str]:
        folder = write(*changes, **kwargs)
        with pytest.raises(StudyError) as caught:
            load(folder)
        return str(caught.value).replace(f"{tmp_path}/", "").splitlines()

    return _refusal
