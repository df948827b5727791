"""`netstudy profiles`: what a study may name, listed, searched and shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netstudy.hardware import HardwareLibrary
from tests.cli.conftest import Netstudy


def names(out: str) -> list[str]:
    return [line.split()[1] for line in out.splitlines()]


def test_all_of_them_are_listed_with_kind_and_title(here: Path, netstudy: Netstudy) -> None:
    outcome = netstudy("profiles")
    assert sorted(names(outcome.out)) == sorted(
        one.profile for one in HardwareLibrary.default().profiles()
    )
    assert "switch       nexus-5010       Cisco Nexus 5010\n" in outcome.out


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["Cisco", "switch"], ["nexus-5010"]),  # of title and kind, in any order and case
        (["tcp", "2.6.18", "linux"], ["linux-2.6.18"]),
        (["voq"], ["generic-voq"]),
    ],
)
def test_words_are_looked_for(
    here: Path, netstudy: Netstudy, words: list[str], found: list[str]
) -> None:
    assert set(found) <= set(names(netstudy("profiles", *words).out))
    assert len(names(netstudy("profiles", *words).out)) < 10


def test_what_nothing_has_is_refused(here: Path, netstudy: Netstudy) -> None:
    outcome = netstudy("profiles", "abacus")
    assert outcome.code == 2
    assert "no profile has abacus" in outcome.err


def test_one_is_shown_with_the_source_of_each_figure(here: Path, netstudy: Netstudy) -> None:
    outcome = netstudy("profiles", "generic-shallow")
    assert outcome.out.startswith("generic-shallow: switch, Generic switch with shallow buffers\n")
    assert "  port_buffer  512 kB (assumed: usual in published incast" in outcome.out
    (told,) = json.loads(netstudy("profiles", "generic-shallow", "--json").out)
    (buffer,) = (one for one in told["figures"] if one["name"] == "port_buffer")
    assert (buffer["value"], buffer["source"]) == ("512 kB", "assumed")


def test_profiles_beside_a_study_are_among_them(here: Path, netstudy: Netstudy) -> None:
    source = HardwareLibrary.default().file("generic-shallow")
    assert source is not None
    (here / "hardware").mkdir()
    own = source.read_text().replace("profile: generic-shallow", "profile: my-own")
    (here / "hardware" / "my-own.yaml").write_text(own)
    assert "my-own" in names(netstudy("profiles").out)
