"""Verbs and a congestion control that only some testbeds have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from netstudy.testbed.netns import kernel
from tests.cli.conftest import Netstudy
from tests.controls import Write, written_with
from tests.testbed.networks import MODERN


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write the study with this congestion control."""
    return written_with(tmp_path)


def test_validate_accepts_a_control_of_some_kernel_with_a_note(
    write: Write, netstudy: Netstudy
) -> None:
    done = netstudy("validate", write("vegas"))
    assert done.code == 0
    assert "note: The simulator has no congestion control vegas." in done.out


def test_validate_has_no_note_on_a_control_of_the_simulator(
    write: Write, netstudy: Netstudy
) -> None:
    assert "note:" not in netstudy("validate", write("bbr")).out


def test_a_word_that_no_kernel_could_have_is_a_mistake(write: Write, netstudy: Netstudy) -> None:
    done = netstudy("validate", write("Cubic"))
    assert done.code == 2
    assert '"Cubic" is not a congestion control; did you mean "cubic"?' in done.err


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["for-people", "json"])
def test_plan_refuses_a_control_that_its_testbed_lacks(
    write: Write, netstudy: Netstudy, form: tuple[str, ...]
) -> None:
    done = netstudy("plan", write("vegas"), *form)
    assert (done.code, done.out) == (2, "")
    assert "The simulator has no congestion control vegas." in done.err


def test_run_refuses_it_before_anything_is_written(
    write: Write, netstudy: Netstudy, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    done = netstudy("run", write("vegas"), "--results", results)
    assert done.code == 2
    assert "The simulator has no congestion control vegas." in done.err
    assert not results.exists()


def test_plan_in_namespaces_refuses_a_control_that_this_kernel_lacks(
    write: Write, netstudy: Netstudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = replace(MODERN, congestion_controls=frozenset({"cubic", "reno"}))
    monkeypatch.setattr(kernel, "kernel", lambda: here)
    path = write("bbr")
    planned = netstudy("plan", path, "--testbed", "netns")
    assert (planned.code, planned.out) == (2, "")
    assert "Linux 6.18 has no bbr here; it has cubic, reno." in planned.err
    assert netstudy("plan", write("reno"), "--testbed", "netns").code == 0
