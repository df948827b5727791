"""Congestion controls that only some testbeds have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.cli._prepare import Asked, Prepared, prepare
from netstudy.testbed.netns import kernel
from netstudy.testbed.netns.testbed import Netns
from netstudy.testbed.sim import Sim
from tests.controls import Write, written_with
from tests.testbed.networks import MODERN


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write the study with this congestion control."""
    return written_with(tmp_path)


def plan_of(prepared: Prepared) -> wire.Plan:
    return prepared.planned.plan


class TestTheSimulator:
    def test_every_control_that_it_offers_is_there(self, write: Write) -> None:
        for control in wire.SIMULATED_CONTROLS:
            prepared = prepare(Asked(write(control)))
            assert Sim().missing_controls(plan_of(prepared)) == [], control

    def test_a_control_of_a_kernel_is_missed_by_name_with_the_list_of_those_there(
        self, write: Write
    ) -> None:
        (said,) = Sim().unsupported(plan_of(prepare(Asked(write("vegas")))))
        assert said.startswith(
            "The simulator has no congestion control vegas. Hosts client and server ask for it."
        )
        assert ", ".join(wire.SIMULATED_CONTROLS) in said

    def test_a_name_with_a_typing_mistake_has_a_suggestion(self, write: Write) -> None:
        (said,) = Sim().unsupported(plan_of(prepare(Asked(write("cubik")))))
        assert 'cubik; did you mean "cubic"?' in said


class TestNamespaces:
    @pytest.fixture
    def offering(self, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
        """Have a kernel that offers these congestion controls."""

        def offer(*controls: str) -> None:
            here = replace(MODERN, congestion_controls=frozenset(controls))
            monkeypatch.setattr(kernel, "kernel", lambda: here)

        return offer

    def test_any_control_that_the_kernel_offers_is_there(
        self, write: Write, offering: Callable[..., None]
    ) -> None:
        offering("cubic", "reno", "vegas")
        plan = plan_of(prepare(Asked(write("vegas"), testbed="netns")))
        assert Netns().missing_controls(plan) == []
        assert Netns().unsupported(plan) == []

    def test_a_control_that_the_kernel_lacks_is_missed_by_name(
        self, write: Write, offering: Callable[..., None]
    ) -> None:
        offering("cubic", "reno")
        plan = plan_of(prepare(Asked(write("vegas"), testbed="netns")))
        said = (
            "Linux 6.18 has no vegas here; it has cubic, reno. Hosts client and server ask for it."
        )
        assert Netns().missing_controls(plan) == [said]
        assert Netns().unsupported(plan) == [said]
