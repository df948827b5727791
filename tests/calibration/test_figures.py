"""Figures of profiles by name, whatever the profile is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.calibration.figures import figure_named, library_with, value_of
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary


@pytest.fixture
def library() -> HardwareLibrary:
    return HardwareLibrary.default()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("arista-7124s:alpha", 0.85, 0.85),
        ("nexus-5010:egress_buffer", "27 KiB", 27_648.0),
        ("ucs-c200-rhel54:nic.receive_per_frame", "1.15 us", 1_150.0),
        ("nt-client-450:cpu.receive_per_byte", "5 ns/B", 5_000.0),
        ("osa-express2-1g:packet_rate", "63000 packets/s", 63_000.0),
        ("trade-z9:app_cpu_growth", "0.43 %", 4_300.0),
        ("trade-z9:database_slots", "8", 8.0),
    ],
)
def test_a_figure_of_any_profile_is_read_and_written(
    library: HardwareLibrary, name: str, text: object, value: float
) -> None:
    figure = figure_named(library, name)
    assert f"{figure.profile}:{figure.name}" == name
    assert figure.read(text) == value
    assert figure.read(figure.written(value)) == value
    assert value_of(library, figure) > 0


@pytest.mark.parametrize("text", ["eight", "8 ms", "-8"])
def test_a_value_that_is_none_is_refused(library: HardwareLibrary, text: str) -> None:
    with pytest.raises(StudyError, match="trade-z9, database_slots: "):
        figure_named(library, "trade-z9:database_slots").read(text)


def test_a_changed_library_has_the_value_and_all_other_profiles(
    library: HardwareLibrary, tmp_path: Path
) -> None:
    figure = figure_named(library, "cpu.send_per_packet", "hp-n4000")
    changed = library_with(library, tmp_path, {figure: 9_999.0})
    assert value_of(changed, figure) == 9_999.0
    other = figure_named(library, "hp-n4000:cpu.per_call")
    assert value_of(changed, other) == value_of(library, other)
    assert changed.names("switch") == library.names("switch")


def test_what_a_profile_does_not_say_has_its_default(library: HardwareLibrary) -> None:
    assert value_of(library, figure_named(library, "host-1g:cpu.send_per_packet")) == 0.0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("alpha", "does not say which profile it belongs to"),
        ("arista-7124:alpha", 'no profile "arista-7124"; did you mean "arista-7124s"'),
        ("arista-7124s:alfa", 'has no figure "alfa"; did you mean "alpha"'),
        ("arista-7124s:ingress_buffer", 'has no figure "ingress_buffer"'),
        ("trade-z9:service", 'has no figure "service"'),
    ],
)
def test_a_figure_that_is_not_there_is_told_with_the_nearest(
    library: HardwareLibrary, name: str, message: str
) -> None:
    with pytest.raises(StudyError, match=message):
        figure_named(library, name)
