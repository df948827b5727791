"""The figures of profiles that a calibration can change, and how they are named."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from netstudy import wire
from netstudy.buffers import ARCHITECTURES
from netstudy.documents.fields import Whole
from netstudy.documents.nearest import did_you_mean
from netstudy.documents.source import read
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary, HostProfile, Kind, SwitchProfile
from netstudy.knobs import Knob, knobs

FIGURES = "figures"
"""The section of a profile whose figures are named without a prefix."""
_OF_HOSTS: Mapping[str, type[BaseModel]] = {
    "tcp": wire.Tcp,
    "nic": wire.Nic,
    "local_path": wire.LocalPath,
    "cpu": wire.Cpu,
    "bus": wire.Bus,
    "disk": wire.Disk,
}
"""Section of a host profile -> the wire model with the section's settings."""
_OF_OTHERS: Mapping[str, type[BaseModel]] = {
    "nic": wire.Nic,
    "tcp": wire.Tcp,
    "application": wire.Costs,
}


@dataclass(frozen=True)
class Figure:
    """A figure of a profile."""

    profile: str
    section: str
    knob: Knob

    @property
    def name(self) -> str:
        """The figure's name in the profile, as in reports: `alpha`, `cpu.send_per_packet`."""
        name = self.knob.name
        return name if self.section == FIGURES else f"{self.section}.{name}"

    def read(self, text: object) -> float:
        """A value from a file as a number of the smallest unit. Raises StudyError if invalid."""
        scalar = self.knob.scalar
        try:
            is_count = isinstance(scalar, Whole) and isinstance(text, str)
            return float(scalar.parse(int(str(text)) if is_count else text))
        except ValueError as error:
            raise StudyError(f"{self.profile}, {self.name}: {error}") from None

    def written(self, value: float) -> Any:
        """The text of a value for a file. Values are rounded to whole numbers of the smallest unit,
        except figures that may have decimals."""
        whole = round(value)
        is_decimal = self.knob.type is float and value != whole
        return self.knob.scalar.written(value if is_decimal else whole)

    def rounded(self, value: float) -> float:
        """The value with four significant digits, since further digits would be random."""
        return self.read(self.written(float(f"{value:.4g}")))


def figure_named(library: HardwareLibrary, text: str, usual: str | None = None) -> Figure:
    """The figure called `PROFILE:NAME`, or just `NAME` if it is in the profile `usual`. Raises
    StudyError if there is no such figure."""
    profile, given, name = text.rpartition(":")
    profile = profile if given else usual or ""
    if not profile:
        raise StudyError(
            f'"{text}" does not say which profile it belongs to; write PROFILE:{name}, or name the '
            "profile with --profile"
        )
    known = {figure.name: figure for figure in _figures_of(library, profile)}
    if name not in known:
        hint = did_you_mean(name, known)
        raise StudyError(f'the profile {profile} has no figure "{name}"{hint}')
    return known[name]


def value_of(library: HardwareLibrary, figure: Figure) -> float:
    """The figure's value in the profile; if the profile has none, the default."""
    section = getattr(
        library.profile(_kind(library, figure.profile), figure.profile), figure.section
    )
    said = None if section is None else getattr(section, figure.knob.name)
    return float(figure.knob.default or 0 if said is None else said.value)


def library_with(
    usual: HardwareLibrary, folder: Path, values: Mapping[Figure, float]
) -> HardwareLibrary:
    """The library with these values for these figures. Changed copies of the profiles are written
    into `folder`, which is searched first."""
    for name in dict.fromkeys(figure.profile for figure in values):
        path = usual.file(name)
        assert path is not None, "its figures were found"
        data: dict[str, Any] = dict(read(path).data)
        for figure, value in values.items():
            if figure.profile == name:
                said = {
                    "value": figure.written(value),
                    "source": "assumed",
                    "from": "tried by netstudy calibrate",
                }
                section = data.get(figure.section) or {}
                data[figure.section] = {**section, figure.knob.name: said}
        # JSON is also valid YAML, and the json module does all quoting.
        (folder / path.name).write_text(json.dumps(data, default=str), encoding="utf-8")
    return HardwareLibrary((folder, *usual.folders))


def _figures_of(library: HardwareLibrary, profile: str) -> Iterator[Figure]:
    for section, model in _sections(library, profile):
        for knob in knobs(model).values():
            if knob.type in (int, float):
                yield Figure(profile, section, knob)


def _sections(library: HardwareLibrary, name: str) -> Iterator[tuple[str, type[BaseModel]]]:
    profile = library.profile(_kind(library, name), name)
    if isinstance(profile, HostProfile):
        yield from _OF_HOSTS.items()
    elif isinstance(profile, SwitchProfile):
        yield FIGURES, wire.Switch
        yield FIGURES, ARCHITECTURES[profile.architecture]
    else:
        yield FIGURES, _OF_OTHERS[profile.kind]


def _kind(library: HardwareLibrary, name: str) -> Kind:
    kinds: tuple[Kind, ...] = get_args(Kind)
    known = {kind: library.names(kind) for kind in kinds}
    for kind, names in known.items():
        if name in names:
            return kind
    every = [one for names in known.values() for one in names]
    raise StudyError(f'no profile "{name}"{did_you_mean(name, every)}')
