"""Profiles of switches, hosts, interfaces, TCPs and applications: every figure with its source.

A profile is one YAML file in a `hardware/` folder, or in a folder inside. Each figure gives its
value, its kind of source (documented, fitted to data, measured or assumed), the source itself, and
differing values of other sources. A study names a profile and may override a figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import Field, TypeAdapter, model_validator

from netstudy import wire
from netstudy.buffers import ARCHITECTURES, Architecture
from netstudy.documents.compact import compacted
from netstudy.documents.fields import (
    CountValue,
    ProfileNameValue,
    RateValue,
    SizeValue,
    WordsValue,
)
from netstudy.documents.nearest import suggestion
from netstudy.documents.problems import fail
from netstudy.documents.source import Document, read
from netstudy.documents.validation import Model, describe, fault, validate
from netstudy.errors import StudyError
from netstudy.knobs import disorder, figures, knobs, model_with
from netstudy.wire_model import Wire

T = TypeVar("T")
FiguresT = TypeVar("FiguresT", bound=Model)

Kind = Literal["switch", "host", "nic", "tcp", "application"]
SourceKind = Literal["documented", "fitted", "measured", "assumed"]

BUFFER_FIGURES: Mapping[str, tuple[str, ...]] = {
    architecture: tuple(knobs(buffer)) for architecture, buffer in ARCHITECTURES.items()
}
"""Architecture -> the figures of its buffer; the first one is required."""


_TWO: dict[str, Any] = {"minItems": 2, "maxItems": 2}


def _ascending(*values: object) -> bool:
    """Whether the values ascend; also true if one of them is text."""
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    return len(numbers) < len(values) or numbers == sorted(numbers)


class OtherValue(Model):
    """The value of another source for the same figure."""

    value: WordsValue
    source: SourceKind
    from_: WordsValue = Field(alias="from")


class Figure(Model, Generic[T]):
    """One figure of a profile."""

    value: T
    source: SourceKind
    """documented (by whom), fitted (on which data), measured (how), or assumed (why)."""
    from_: WordsValue = Field(alias="from")
    """The document; the data of the fit; the measurement and its method; or the reason."""
    interval: Annotated[tuple[T, ...], Field(json_schema_extra=_TWO)] = ()
    """For a fitted figure: the lowest and the highest value that fit the data equally well."""
    others: tuple[OtherValue, ...] = ()
    """Values of other sources, for the reader to judge."""

    @model_validator(mode="after")
    def _interval_is_of_a_fit(self) -> Figure[T]:
        if not self.interval:
            return self
        if self.source != "fitted":
            raise fault("is only for a fitted figure", "interval")
        low, high = self.interval[0], self.interval[-1]
        if len(self.interval) != 2 or not _ascending(low, self.value, high):
            raise fault("must be [lowest, highest], with the value between them", "interval")
        return self


def _ordered(own: FiguresT, model: type[Wire]) -> FiguresT:
    values = {name: said.value for name, said in own if isinstance(said, Figure)}
    for wrong in disorder(model, values):
        raise fault(wrong.message, wrong.upper, "value")
    return own


class _AnySwitch(Model):
    ports: Figure[CountValue]
    """Number of ports that hosts can be linked to."""
    line_rate: Figure[RateValue]
    """Rate of each port."""


class SwitchFigures(
    model_with(  # type: ignore[misc]
        _AnySwitch,
        figures(wire.Switch, Figure),
        *(figures(b, Figure) for b in ARCHITECTURES.values()),
    )
):
    """Known figures of a switch."""

    @model_validator(mode="after")
    def _in_order(self) -> SwitchFigures:
        return _ordered(self, wire.Switch)


class TcpFigures(model_with(Model, figures(wire.Tcp, Figure))):  # type: ignore[misc]
    """Known figures of a host's TCP."""

    @model_validator(mode="after")
    def _in_order(self) -> TcpFigures:
        return _ordered(self, wire.Tcp)


class HostTcpFigures(TcpFigures):
    """A host's TCP: the name of a complete TCP, and how this host's TCP differs from it."""

    profile: ProfileNameValue | None = None
    """Name of a TCP in the hardware library."""


class _AnyNic(Model):
    rate: Figure[RateValue] | None = None
    """Line rate of the interface's port."""
    buffers: Figure[CountValue] | None = None
    """Number of driver buffers, the unit in which mainframe interfaces count their queue."""
    buffer: Figure[SizeValue] | None = None
    """Size of each buffer; if absent, each buffer holds one frame."""


class NicFigures(model_with(_AnyNic, figures(wire.Nic, Figure))):  # type: ignore[misc]
    """Known figures of a network interface."""

    @model_validator(mode="after")
    def _in_order(self) -> NicFigures:
        return _ordered(self, wire.Nic)


class LocalPathFigures(model_with(Model, figures(wire.LocalPath, Figure))):  # type: ignore[misc]
    """Known figures of the path between two endpoints on one host."""


class CpuFigures(model_with(Model, figures(wire.Cpu, Figure))):  # type: ignore[misc]
    """CPUs of a host, and the CPU time that work takes; used only by the simulator."""


class BusFigures(model_with(Model, figures(wire.Bus, Figure))):  # type: ignore[misc]
    """Buses of a host; used only by the simulator."""


class DiskFigures(model_with(Model, figures(wire.Disk, Figure))):  # type: ignore[misc]
    """The disk and the page cache of a host; used only by the simulator."""


class ApplicationFigures(model_with(Model, figures(wire.Costs, Figure))):  # type: ignore[misc]
    """The costs of a page element of an application; used only by the simulator."""


class HostFigures(Model):
    """Known figures of a host apart from its TCP and its interface."""

    processor: Figure[WordsValue] | None = None
    cpus: Figure[CountValue] | None = None
    memory: Figure[SizeValue] | None = None
    system: Figure[WordsValue] | None = None
    discards: Figure[RateValue] | None = None
    """Rate at which the host can receive data and discard them."""
    writes: Figure[RateValue] | None = None
    """Rate at which the host can receive data and write them to disk."""


class Profile(Model):
    """The common keys of all profiles."""

    profile: ProfileNameValue
    """Name of the profile, and of its file."""
    kind: Kind
    title: WordsValue
    """Name of the device in a report."""
    notes: WordsValue | None = None
    """Caveats that a reader must know before relying on the profile."""


class SwitchProfile(Profile):
    """A switch."""

    kind: Literal["switch"]
    architecture: Architecture
    """Where frames wait: output-queued, shared-memory or ingress-queued."""
    figures: SwitchFigures

    @model_validator(mode="after")
    def _has_its_buffer(self) -> SwitchProfile:
        for architecture, names in BUFFER_FIGURES.items():
            own = architecture == self.architecture
            for name in names:
                if not own and getattr(self.figures, name) is not None:
                    raise fault(f"is only for a switch that is {architecture}", "figures", name)
            if own and getattr(self.figures, names[0]) is None:
                raise fault(f"a switch that is {architecture} needs {names[0]}", "figures")
        return self


class HostProfile(Profile):
    """A host."""

    kind: Literal["host"]
    figures: HostFigures = HostFigures()
    tcp: HostTcpFigures = HostTcpFigures()
    nic: NicFigures = NicFigures()
    local_path: LocalPathFigures | None = None
    """If absent, data that stay inside the host have the latencies and the CPU costs of the
    interface."""
    cpu: CpuFigures | None = None
    """If absent, the CPU costs in `nic` are the only ones."""
    bus: BusFigures | None = None
    """If absent, buses never limit the host."""
    disk: DiskFigures | None = None
    """If absent, there is no disk."""


class NicProfile(Profile):
    """A network interface."""

    kind: Literal["nic"]
    figures: NicFigures


class TcpProfile(Profile):
    """A complete TCP: congestion control, loss recovery, acknowledgments, timers, offload."""

    kind: Literal["tcp"]
    figures: TcpFigures


class ApplicationProfile(Profile):
    """An application: the costs of its page elements at its tiers."""

    kind: Literal["application"]
    figures: ApplicationFigures

    @model_validator(mode="after")
    def _has_a_cost(self) -> ApplicationProfile:
        if self.figures.app_cpu is None:
            raise fault("an application needs app_cpu", "figures")
        return self


AnyProfile = SwitchProfile | HostProfile | NicProfile | TcpProfile | ApplicationProfile
_MODELS: dict[str, type[AnyProfile]] = {
    "switch": SwitchProfile,
    "host": HostProfile,
    "nic": NicProfile,
    "tcp": TcpProfile,
    "application": ApplicationProfile,
}


_SECTIONS = ("tcp", "nic", "local_path", "cpu", "bus", "disk")
"""Parts of a host's profile with figures of their own."""


@dataclass(frozen=True)
class FigureRow:
    """One figure of a profile, for the appendix of a report."""

    name: str
    """`pool`, `tcp.min_rto`."""
    value: str
    """The value as the profile writes it: "435 kB"."""
    source: str
    origin: str
    interval: str | None = None
    """For a fitted figure: the values that fit equally well, "81500 B to 99500 B"."""
    others: tuple[str, ...] = ()
    """Values of other sources, each with its source: "1 MB (documented: data sheet)"."""


@dataclass
class HardwareLibrary:
    """The profiles that a study may name. Profiles in the study's folder take precedence over
    netstudy's."""

    folders: tuple[Path, ...]

    PACKAGED: ClassVar[Path] = Path(__file__).parent / "_hardware"
    CHECKOUT: ClassVar[Path] = Path(__file__).parents[2] / "hardware"

    @classmethod
    def default(cls, study_folder: Path | None = None) -> HardwareLibrary:
        """The study's own `hardware/`, then netstudy's: in the installed package, or else in the
        checkout."""
        own = [study_folder / "hardware"] if study_folder else []
        shared = cls.PACKAGED if cls.PACKAGED.is_dir() else cls.CHECKOUT
        return cls((*own, shared))

    def names(self, kind: Kind) -> list[str]:
        """Names of the profiles of one kind, in alphabetical order."""
        return sorted(name for name, path in self._files.items() if self._kind(path) == kind)

    def profiles(self) -> list[AnyProfile]:
        """Every profile, sorted by kind and name."""
        loaded = [self._load(path)[1] for path in self._files.values()]
        return sorted(loaded, key=lambda one: (tuple(_MODELS).index(one.kind), one.profile))

    def switch(self, name: str) -> SwitchProfile:
        """A switch by name. Raises StudyError, which suggests the nearest name, if it is
        unknown."""
        profile = self._get("switch", name)
        assert isinstance(profile, SwitchProfile)
        return profile

    def host(self, name: str) -> HostProfile:
        """A host by name. Raises StudyError, which suggests the nearest name, if it is unknown."""
        profile = self._get("host", name)
        assert isinstance(profile, HostProfile)
        return profile

    def nic(self, name: str) -> NicProfile:
        """A network interface by name. Raises StudyError, which suggests the nearest name, if it is
        unknown."""
        profile = self._get("nic", name)
        assert isinstance(profile, NicProfile)
        return profile

    def tcp(self, name: str) -> TcpProfile:
        """A complete TCP by name. Raises StudyError, which suggests the nearest name, if it is
        unknown."""
        profile = self._get("tcp", name)
        assert isinstance(profile, TcpProfile)
        return profile

    def application(self, name: str) -> ApplicationProfile:
        """An application by name. Raises StudyError, which suggests the nearest name, if it is
        unknown."""
        profile = self._get("application", name)
        assert isinstance(profile, ApplicationProfile)
        return profile

    def profile(self, kind: Kind, name: str) -> AnyProfile:
        """A profile of any kind by name. Raises StudyError, which suggests the nearest name, if it
        is unknown."""
        return self._get(kind, name)

    def file(self, name: str) -> Path | None:
        """The file of a profile; None if there is none."""
        return self._files.get(name)

    def missing(self, kind: Kind, name: str) -> str | None:
        """The error about an unknown profile name; None if the library has the profile."""
        path = self.file(name)
        found = self._kind(path) if path else None
        if found == kind:
            return None
        if found:
            return f'"{name}" is a {found}, not a {kind}{_listed(kind, self.names(kind))}'
        names = self.names(kind)
        return f'no {kind} profile "{name}"{suggestion(name, names)}{_listed(kind, names)}'

    def rows(self, kind: Kind, name: str) -> list[FigureRow]:
        """Every figure of a profile with its source, for the appendix of a report."""
        self._get(kind, name)
        document, _ = self._load(self._files[name])
        sections = (("", "figures"), *((f"{name}.", name) for name in _SECTIONS))
        return [
            _row(prefix + figure, said)
            for prefix, section in sections
            for figure, said in document.data.get(section, {}).items()
            if (section, figure) != ("tcp", "profile")
        ]

    def _get(self, kind: Kind, name: str) -> AnyProfile:
        if wrong := self.missing(kind, name):
            raise StudyError(wrong)
        return self._load(self._files[name])[1]

    @cached_property
    def _files(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for folder in reversed(self.folders):
            found |= {path.stem: path for path in sorted(folder.rglob("*.yaml"))}
        return found

    def _kind(self, path: Path) -> str:
        return self._load(path)[1].kind

    def _load(self, path: Path) -> tuple[Document, AnyProfile]:
        return _loaded(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=256)
def _loaded(path: Path, _modified_ns: int) -> tuple[Document, AnyProfile]:
    """Reads the profile in a file. It is cached for all libraries of the process until the file
    changes."""
    document = read(path)
    return document, _validated(document, path)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of profiles, for editors and for checks by other tools."""
    schema = compacted(TypeAdapter(AnyProfile).json_schema(by_alias=True))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "netstudy hardware profile",
        **schema,
    }


def _validated(document: Document, path: Path) -> AnyProfile:
    kind = document.data.get("kind")
    model = _MODELS.get(kind) if isinstance(kind, str) else None
    if model is None:
        known = ", ".join(_MODELS)
        fail(document.problem(("kind",), f"must be one of {known}, not {describe(kind)}"))
    profile = validate(document, model)
    if profile.profile != path.stem:
        message = f'must be "{path.stem}", the name of its file'
        fail(document.problem(("profile",), message))
    return profile


def _listed(kind: str, names: list[str]) -> str:
    if not names:
        return f"; there is no {kind} profile at all"
    return f" ({kind} profiles: {', '.join(names)})"


def _row(name: str, said: dict[str, Any]) -> FigureRow:
    others = tuple(
        f"{_as_written(other['value'])} ({other['source']}: {other['from']})"
        for other in said.get("others", [])
    )
    interval = " to ".join(_as_written(end) for end in said.get("interval", [])) or None
    return FigureRow(
        name=name,
        value=_as_written(said["value"]),
        source=said["source"],
        origin=said["from"],
        interval=interval,
        others=others,
    )


def _as_written(value: object) -> str:
    return describe(value).strip('"')
