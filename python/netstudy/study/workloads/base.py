"""What the parts of a study that know no workload ask of each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from netstudy.documents.problems import Path, Problem
from netstudy.documents.validation import Model
from netstudy.study.places import Place

if TYPE_CHECKING:
    from netstudy.study.model import Study


class Spec(Model):
    """A workload as a study writes it."""

    metrics: ClassVar[Mapping[str, tuple[str, ...]]]
    """What it measures, with the statistics that may follow each name; the mean may always."""
    figures: ClassVar[tuple[str, ...]]
    """The standard figures that show it."""
    counted: ClassVar[str | None] = None
    """The key that says how many of what it counts are measured; None: it counts nothing."""
    timed: ClassVar[bool]
    """Whether its warm-up and its measuring phase may last for a time."""
    one_client: ClassVar[bool] = False
    """Whether a single host asks."""
    has_application: ClassVar[bool] = False
    """Whether it has data of its own to load, set up, gather statistics of and reset."""

    @property
    def places(self) -> Mapping[str, Place]:
        """Key -> the hosts that it names."""
        return {}

    def problems(self, study: Study, path: Path) -> Iterator[Problem]:
        """What is wrong with it in this study, where `path` leads to it."""
        for key, place in self.places.items():
            if wrong := study.topology.no_place(place):
                yield study.document.problem((*path, key), wrong)
        if len(set(self.places.values())) < len(self.places):
            first, second = self.places
            message = f"is the {first.rstrip('s')} too; the two must be different hosts"
            yield study.document.problem((*path, second), message)
