"""The runs of a cell, block by block, and the parts that were gathered from them.

A parsed record takes ten times the memory of its text, so a large study does not keep its records.
They are read in blocks of one cell, and whatever an analysis needs of a run is gathered from a
block into a small part: an array with a number for each run, or the samples themselves. A part is
kept under a key, so that a second analysis does not read the records again. Without a part, the
records are read again; the results are the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final, TypeVar, overload

import numpy as np

from netstudy.analysis.samples import Floats, NotAlikeError, RunSample
from netstudy.wire import Run, RunRecord

T = TypeVar("T")

CACHE_BYTES: Final = 96 * 2**20
"""Memory for parsed records that a table of cells may hold."""
BLOCK_BYTES: Final = 24 * 2**20
"""Memory of the parsed records of a block, from which on the next run begins another block."""

ReadRecord = Callable[[Run], RunRecord | None]
"""Reads the record of a planned run; None: the run has none."""
Part = Callable[["Block"], Any]
"""Gathers from the runs of a block."""
Demands = Mapping[Hashable, Part]
"""Key -> how its parts are gathered."""


class NotAlike:
    """Kept in place of a NotAlikeError, which would keep its block alive."""


class Block(Sequence[RunSample]):
    """Runs of one cell whose records are in memory together."""

    def __init__(self, runs: Sequence[RunSample]) -> None:
        """A block of these runs, in this order."""
        self._runs = runs
        self._kept: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, place: int) -> RunSample: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[RunSample]: ...
    def __getitem__(self, place: int | slice) -> RunSample | Sequence[RunSample]:
        return self._runs[place]

    def __iter__(self) -> Iterator[RunSample]:
        return iter(self._runs)

    def kept(self, key: Hashable, find: Callable[[], T]) -> T:
        """The value that `find` computes from the block, cached under `key` with the block."""
        if key not in self._kept:
            self._kept[key] = find()
        found: T = self._kept[key]
        return found

    def column(self, table: str, name: str) -> Floats | None:
        """A column of a table of samples as a matrix with a row for each run; None if no run has
        it. Raises NotAlikeError if the runs have different numbers of rows."""
        found = self.kept(("column", table, name), lambda: self._column(table, name))
        if isinstance(found, NotAlike):
            raise NotAlikeError
        return found

    def clear(self) -> None:
        """Drops whatever was computed from the block and its runs and cached with them. Some of it
        refers to the block, which would live until the next search for cycles."""
        self._kept.clear()
        for run in self._runs:
            run.clear()

    @property
    def measure_s(self) -> list[float | None]:
        """The length of the measuring phase of each run."""
        return self.kept("measure_s", lambda: [run.measure_s for run in self])

    @property
    def bytes_received(self) -> Floats | None:
        """See Columns: a column with the bytes of each run."""
        received = self.kept("bytes received", lambda: [run.bytes_received for run in self])
        known = [one for one in received if one is not None]
        if len(known) < len(received):
            if known:
                raise NotAlikeError
            return None
        return np.array(known, dtype=np.float64)[:, np.newaxis]

    def _column(self, table: str, name: str) -> Floats | NotAlike | None:
        rows = self.kept(
            ("table", table), lambda: [getattr(run.record.samples, table) for run in self]
        )
        values = [() if row is None else getattr(row, name) or () for row in rows]
        lengths = {len(one) for one in values}
        if lengths == {0}:
            return None
        if len(lengths) > 1:
            return NotAlike()
        width = lengths.pop()
        try:
            flat = np.fromiter(
                chain.from_iterable(values), dtype=np.float64, count=width * len(values)
            )
        except TypeError:  # some values are missing
            return np.array(values, dtype=np.float64)
        return flat.reshape(len(values), width)


class CellRuns(Sequence[RunSample]):
    """The valid runs of a cell, in the order of the plan. These are all in memory."""

    def __init__(self, runs: Sequence[RunSample]) -> None:
        """Runs whose records stay in memory."""
        self._block = Block(runs)
        self._parts: dict[Hashable, list[Any]] = {}
        self._kept: dict[Hashable, Any] = {}
        self.bases: Mapping[str, float] = runs[0].bases if runs else {}
        """Relative metric -> its base value (100 %), the same for all runs."""

    def __len__(self) -> int:
        return len(self._block)

    @overload
    def __getitem__(self, place: int) -> RunSample: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[RunSample]: ...
    def __getitem__(self, place: int | slice) -> RunSample | Sequence[RunSample]:
        return self._block[place]

    def __iter__(self) -> Iterator[RunSample]:
        for block in self.blocks():
            yield from block

    @property
    def replicates(self) -> list[int]:
        """The number of each run in its cell, from 1."""
        return [run.planned.replicate for run in self._block]

    @property
    def ids(self) -> list[str]:
        """The id of each run."""
        return [run.planned.id for run in self._block]

    def blocks(self) -> Iterator[Block]:
        """All runs, in blocks that are not empty."""
        if len(self._block):
            yield self._block

    def gathered(self, key: Hashable, part: Callable[[Block], T]) -> list[T]:
        """The parts of all blocks, in their order; kept under `key`."""
        self.gather({key: part})
        found: list[T] = self._parts[key]
        return found

    def gather(self, demands: Demands) -> None:
        """Gathers the parts that are not kept yet, reading each record at most once."""
        new = {key: part for key, part in demands.items() if key not in self._parts}
        if not new:
            return
        found: dict[Hashable, list[Any]] = {key: [] for key in new}
        for block in self.blocks():
            for key, part in new.items():
                found[key].append(part(block))
        self._parts |= found

    def each(self, key: Hashable, of: Callable[[RunSample], T]) -> list[T]:
        """The value of `of` for each run; kept under `key`."""
        parts = self.gathered(key, each_of(of))
        return [value for part in parts for value in part]

    def kept(self, key: Hashable, find: Callable[[], T]) -> T:
        """The value that `find` computes from the cell, cached under `key`."""
        if key not in self._kept:
            self._kept[key] = find()
        found: T = self._kept[key]
        return found

    def joined(self, key: Hashable, part: Callable[[Block], T], join: Callable[[list[T]], T]) -> T:
        """The parts of all blocks joined into one, which is kept under `key` instead of them."""
        parts = self.gathered(key, part)
        if len(parts) != 1:
            parts = self._parts[key] = [join(parts)]
        return parts[0]

    def forget(self, keys: Collection[Hashable]) -> None:
        """Drops parts, once the values that were computed from them are kept elsewhere."""
        for key in keys:
            self._parts.pop(key, None)

    def with_bases(self, bases: Mapping[str, float], but: Collection[object] = ()) -> CellRuns:
        """The same runs, with the base values of their relative metrics, and with the parts that do
        not depend on these; `but`: the readings of relative metrics."""
        found = self._with_bases(bases)
        found._parts = {key: part for key, part in self._parts.items() if not _is_of(key, but)}
        found._kept = {key: value for key, value in self._kept.items() if not _is_of(key, but)}
        return found

    def _with_bases(self, bases: Mapping[str, float]) -> CellRuns:
        return CellRuns([replace(run, bases=bases) for run in self])


def each_of(of: Callable[[RunSample], T]) -> Callable[[Block], list[T]]:
    """Gathers the value of `of` for each run, as `CellRuns.each` returns it."""
    return lambda block: [of(run) for run in block]


def _is_of(key: Hashable, readings: Collection[object]) -> bool:
    """True if the key of a part begins with one of these readings."""
    return isinstance(key, tuple) and key[0] in readings


def cell_runs(runs: Sequence[RunSample]) -> CellRuns:
    """The same runs as a CellRuns; a sequence of another type stays in memory."""
    return runs if isinstance(runs, CellRuns) else CellRuns(runs)


class BlockCache:
    """The blocks and single runs that were used last, within a number of bytes."""

    def __init__(self, limit_bytes: int = CACHE_BYTES) -> None:
        """An empty cache. It holds at least the entry that was used last, however large."""
        self._limit_bytes = limit_bytes
        self._bytes = 0
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    @property
    def block_bytes(self) -> int:
        """Size from which on a block takes no further run: several blocks fit into the cache."""
        return min(BLOCK_BYTES, self._limit_bytes // 4)

    def put(self, key: Hashable, entry: object, size_bytes: int) -> None:
        """Adds an entry, and removes the ones that were not used for the longest time."""
        self._entries[key] = entry, size_bytes
        self._bytes += size_bytes
        while self._bytes > self._limit_bytes and len(self._entries) > 1:
            _, (_, removed_bytes) = self._entries.popitem(last=False)
            self._bytes -= removed_bytes

    def get(self, key: Hashable) -> Any:
        """An entry, or None."""
        found = self._entries.get(key)
        if found is None:
            return None
        self._entries.move_to_end(key)
        return found[0]


class StoredRuns(CellRuns):
    """The valid runs of a cell whose records are read when they are needed."""

    def __init__(
        self,
        planned: Sequence[Run],
        ends: Sequence[int],
        parts: dict[Hashable, list[Any]],
        cache: BlockCache,
        sample: Callable[[Run], RunSample],
    ) -> None:
        """The runs `planned`, read by `sample`. `ends`: for each block, the number of runs up to
        its end."""
        super().__init__(())
        self._parts = parts
        self._planned = planned
        self._ends = ends
        self._cache = cache
        self._sample = sample
        self.token: Final = object()
        """Identifies these runs in the cache."""

    def __len__(self) -> int:
        return len(self._planned)

    @overload
    def __getitem__(self, place: int) -> RunSample: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[RunSample]: ...
    def __getitem__(self, place: int | slice) -> RunSample | Sequence[RunSample]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        return self._one(range(len(self))[place])

    @property
    def replicates(self) -> list[int]:
        """See CellRuns."""
        return [run.replicate for run in self._planned]

    @property
    def ids(self) -> list[str]:
        """See CellRuns."""
        return [run.id for run in self._planned]

    def blocks(self) -> Iterator[Block]:
        """See CellRuns."""
        return (self._block_at(number) for number in range(len(self._ends)))

    def _one(self, place: int) -> RunSample:
        """A run, without the others of its block unless they are in memory."""
        number = next(n for n, end in enumerate(self._ends) if place < end)
        block: Block | None = self._cache.get((self.token, number))
        if block is not None:
            return block[place - self._begin(number)]
        key = (self.token, "run", place)
        run: RunSample | None = self._cache.get(key)
        if run is None:
            run = self._sample(self._planned[place])
            self._cache.put(key, run, record_bytes(run.record))
        return run

    def _block_at(self, number: int) -> Block:
        key = (self.token, number)
        block: Block | None = self._cache.get(key)
        if block is None:
            planned = self._planned[self._begin(number) : self._ends[number]]
            block = Block([self._sample(run) for run in planned])
            self._cache.put(key, block, sum(record_bytes(run.record) for run in block))
        return block

    def _begin(self, number: int) -> int:
        return self._ends[number - 1] if number else 0

    def _with_bases(self, bases: Mapping[str, float]) -> CellRuns:
        plain = self._sample
        found = StoredRuns(
            self._planned,
            self._ends,
            {},
            self._cache,
            lambda run: replace(plain(run), bases=bases),
        )
        found.bases = bases
        return found


class Gathering:
    """Gathers from the records of a cell while they are read for the first time."""

    def __init__(
        self, demands: Demands, cache: BlockCache, sample: Callable[[Run], RunSample]
    ) -> None:
        """`sample` reads a run again, once its block is no longer in memory."""
        self._demands = demands
        self._cache = cache
        self._sample = sample
        self._planned: list[Run] = []
        self._ends: list[int] = []
        self._parts: dict[Hashable, list[Any]] = {key: [] for key in demands}
        self._open: list[RunSample] = []
        self._blocks: list[tuple[Block, int]] = []
        self._bytes = 0

    def add(self, sample: RunSample) -> None:
        """Adds the next run."""
        self._planned.append(sample.planned)
        self._open.append(sample)
        self._bytes += record_bytes(sample.record)
        if self._bytes >= self._cache.block_bytes:
            self._close()

    def runs(self) -> StoredRuns:
        """All runs that were added."""
        if self._open:
            self._close()
        found = StoredRuns(tuple(self._planned), self._ends, self._parts, self._cache, self._sample)
        for number, (block, size_bytes) in enumerate(self._blocks, len(self._ends) - 1):
            self._cache.put((found.token, number), block, size_bytes)
        return found

    def _close(self) -> None:
        block = Block(self._open)
        for key, part in self._demands.items():
            self._parts[key].append(part(block))
        block.clear()
        self._ends.append(len(self._planned))
        self._blocks = [(block, self._bytes)]  # only the last one stays in memory
        self._open, self._bytes = [], 0


_RECORD_BYTES: Final = 6_000
_READING_BYTES: Final = 190
_VALUE_BYTES: Final = 40


def record_bytes(record: RunRecord) -> int:
    """Estimate of the memory of a parsed record."""
    readings = sum(map(len, record.counters.values()))
    readings += sum(len(port) for node in record.ports.values() for port in node.values())
    values = 0
    for tables in vars(record.samples).values():
        for table in tables if isinstance(tables, tuple) else (tables,):
            if table is not None:
                columns = vars(table)
                longest = max(
                    (len(one) for one in columns.values() if type(one) is tuple), default=0
                )
                values += longest * len(columns)
    return _RECORD_BYTES + _READING_BYTES * readings + _VALUE_BYTES * values
