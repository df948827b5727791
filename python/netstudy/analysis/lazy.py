"""Findings that are computed on first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

Item = TypeVar("Item")


class Lazy(Sequence[Item]):
    """A sequence whose items are computed once, on first use."""

    def __init__(self, makers: Sequence[Callable[[], Item]]) -> None:
        self._makers = makers
        self._made: dict[int, Item] = {}

    def __len__(self) -> int:
        return len(self._makers)

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Item]: ...

    def __getitem__(self, place: int | slice) -> Item | Sequence[Item]:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        place = range(len(self))[place]
        if place not in self._made:
            self._made[place] = self._makers[place]()
        return self._made[place]
