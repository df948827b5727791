"""Hardware profiles: every figure has a source, and a mistake in one has its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.errors import StudyError
from netstudy.hardware import BUFFER_FIGURES, HardwareLibrary, Kind

ROOT = Path(__file__).parents[2]

SWITCH = """\
profile: plain
kind: switch
title: A plain switch
architecture: output-queued
figures:
  ports: {value: 4, source: assumed, from: an example}
  line_rate: {value: 1 Gbit/s, source: assumed, from: an example}
  port_buffer: {value: 64 kB, source: fitted, from: "a table, 1 to 4 servers",
    interval: [60 kB, 80 kB]}
"""


@pytest.fixture
def library(tmp_path: Path) -> HardwareLibrary:
    (tmp_path / "hardware").mkdir()
    (tmp_path / "hardware" / "plain.yaml").write_text(SWITCH, encoding="utf-8")
    return HardwareLibrary.default(tmp_path)


def test_every_profile_of_the_repository_can_be_read() -> None:
    library = HardwareLibrary.default()
    files = sorted(path.stem for path in (ROOT / "hardware").rglob("*.yaml"))
    kinds: list[Kind] = ["switch", "host", "nic", "tcp", "application"]
    named = [name for kind in kinds for name in library.names(kind)]
    assert sorted(named) == files


@pytest.mark.parametrize("kind", ["switch", "host", "nic", "tcp", "application"])
def test_every_figure_says_where_it_comes_from(kind: str) -> None:
    library = HardwareLibrary.default()
    for name in library.names(kind):  # type: ignore[arg-type]
        rows = library.rows(kind, name)  # type: ignore[arg-type]
        assert rows, name
        for row in rows:
            assert row.source in {"documented", "fitted", "measured", "assumed"}
            assert row.origin
            assert (row.interval is not None) == (row.source == "fitted"), (name, row.name)


def test_the_two_switches_of_the_incast_study() -> None:
    library = HardwareLibrary.default()
    arista, nexus = library.switch("arista-7124s"), library.switch("nexus-5010")
    assert arista.architecture == "shared-memory"
    assert arista.figures.pool is not None
    assert (arista.figures.pool.value, arista.figures.pool.source) == (1_240_000, "documented")
    assert arista.figures.alpha is not None
    assert (arista.figures.alpha.value, arista.figures.alpha.source) == (0.4, "fitted")
    assert nexus.architecture == "ingress-queued"
    assert nexus.figures.ingress_buffer is not None
    assert nexus.figures.ingress_cell is not None
    assert nexus.figures.ingress_reserve is not None
    # The fitted buffer holds 14 jumbo frames in whole cells: a port keeps room for seven more.
    cell_bytes = nexus.figures.ingress_cell.value
    frame_bytes = -(-9018 // cell_bytes) * cell_bytes
    kept_bytes = (int(nexus.figures.ingress_reserve.value) - 1) * frame_bytes
    assert (nexus.figures.ingress_buffer.value - kept_bytes) // frame_bytes == 14
    assert nexus.figures.random_arbitration is not None
    assert nexus.figures.random_arbitration.source == "fitted"


def test_figures_are_listed_as_they_were_written(library: HardwareLibrary) -> None:
    buffer = library.rows("switch", "plain")[2]
    assert (buffer.name, buffer.value, buffer.source, buffer.origin, buffer.interval) == (
        "port_buffer", "64 kB", "fitted", "a table, 1 to 4 servers", "60 kB to 80 kB",
    )  # fmt: skip


def test_a_study_brings_its_own_profiles(library: HardwareLibrary, tmp_path: Path) -> None:
    assert library.switch("plain").title == "A plain switch"
    assert "plain" in library.names("switch")
    assert "plain" not in HardwareLibrary.default().names("switch")
    assert library.file("plain") == tmp_path / "hardware" / "plain.yaml"


def test_a_study_s_own_profile_goes_before_one_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "hardware").mkdir()
    own = SWITCH.replace("profile: plain", "profile: nexus-5010")
    (tmp_path / "hardware" / "nexus-5010.yaml").write_text(own, encoding="utf-8")
    assert HardwareLibrary.default(tmp_path).switch("nexus-5010").title == "A plain switch"


def test_an_unknown_name_gives_the_nearest_and_the_list(library: HardwareLibrary) -> None:
    with pytest.raises(StudyError) as caught:
        library.switch("plan")
    assert str(caught.value) == (
        'no switch profile "plan"; did you mean "plain"? (switch profiles: arista-7124s, '
        "generic-deep, generic-shallow, generic-shared, generic-voq, nexus-5010, plain, "
        "wire-speed-12)"
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("port_buffer:", "port_bufer:",
         '8:3: figures.port_bufer: unknown key; did you mean "port_buffer"?'),
        ("64 kB", "64 KB",
         '8:24: figures.port_buffer.value: "64 KB": unknown unit "KB"; did you mean "64 kB" '
         '(1000 bytes) or "64 KiB" (1024 bytes)?'),
        ("source: fitted, ", "", "8:3: figures.port_buffer.source: the key is missing"),
        ("source: fitted", "source: guessed",
         '8:39: figures.port_buffer.source: "guessed" is not known here; known: documented, '
         "fitted, measured, assumed"),
        (', from: "a table, 1 to 4 servers"', "",
         "8:3: figures.port_buffer.from: the key is missing"),
        ("source: fitted", "source: assumed",
         "9:15: figures.port_buffer.interval: is only for a fitted figure"),
        ("[60 kB, 80 kB]", "[70 kB, 80 kB]",
         "9:15: figures.port_buffer.interval: must be [lowest, highest], with the value between "
         "them"),
        ("[60 kB, 80 kB]", "[60 kB]",
         "9:15: figures.port_buffer.interval: must be [lowest, highest], with the value between "
         "them"),
        ("value: 4,", "value: 0,", "6:18: figures.ports.value: must be at least 1, not 0"),
        ("kind: switch", "kind: router",
         '2:7: kind: must be one of switch, host, nic, tcp, application, not "router"'),
        ("profile: plain", "profile: plane",
         '1:10: profile: must be "plain", the name of its file'),
        ("port_buffer:", "pool:", "6:3: figures: a switch that is output-queued needs port_buffer"),
        ("architecture: output-queued", "architecture: shared-memory",
         "8:16: figures.port_buffer: is only for a switch that is output-queued"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_profile_has_its_place(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "hardware").mkdir()
    file = tmp_path / "hardware" / "plain.yaml"
    file.write_text(SWITCH.replace(old, new), encoding="utf-8")
    with pytest.raises(StudyError) as caught:
        HardwareLibrary.default(tmp_path).switch("plain")
    assert str(caught.value) == f"{file}:{said}"


def test_no_figure_belongs_to_two_architectures() -> None:
    names = [name for figures in BUFFER_FIGURES.values() for name in figures]
    assert len(names) == len(set(names))
