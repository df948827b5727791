"""A place in a topology: a host group, a zone of its hosts, or one of their interfaces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from netstudy.documents.fields import Scalar, Text, Typed

_NAME = r"[A-Za-z][A-Za-z0-9_-]*"
_ZONE = rf"(?:\.(?P<zone>{_NAME}))?"
_INTERFACE = rf"(?:@(?P<interface>{_NAME}))?"


@dataclass(frozen=True)
class Place:
    """A host group, or a zone or an interface of its hosts; the end of a link may be a switch."""

    group: str
    zone: str | None = None
    """A zone of each host; None: the host itself."""
    interface: str | None = None
    """An interface of each host; None: the study names none."""

    def __str__(self) -> str:
        """The place as a study writes it."""
        zone = f".{self.zone}" if self.zone else ""
        return self.group + zone + (f"@{self.interface}" if self.interface else "")


@dataclass(frozen=True)
class PlaceText(Scalar):
    """`host`, `host.zone`, `host@interface` or `host.zone@interface`."""

    zones: bool
    """Whether the text may contain a zone."""

    def parse(self, value: object) -> Place:
        """Read a place. Whether it exists is checked later, when the whole study is read."""
        text = Text().parse(value)
        match = re.fullmatch(self._pattern, text)
        if match is None:
            forms = "host, host.zone or host@interface" if self.zones else "host or host@interface"
            raise ValueError(f'"{text}" is not a place; write {forms}')
        named = match.groupdict()
        return Place(named["group"], named.get("zone"), named["interface"])

    def json_schema(self) -> dict[str, Any]:
        """A string with the pattern of a place."""
        bare = re.sub(r"\?P<\w+>", "?:", self._pattern)
        return {"type": "string", "pattern": f"^{bare}$"}

    @property
    def definition(self) -> str:
        """The definition's name, which depends on whether zones are allowed."""
        return "Place" if self.zones else "HostPlace"

    @property
    def _pattern(self) -> str:
        return rf"(?P<group>{_NAME}){_ZONE if self.zones else ''}{_INTERFACE}"


PlaceValue = Annotated[Place, Typed(PlaceText(zones=True), refs=False)]
LinkEnd = Annotated[Place, Typed(PlaceText(zones=False), refs=False)]
