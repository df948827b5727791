"""A table of results with types, units and meanings: as Arrow, pandas, polars and Parquet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from netstudy.packages import module, package
from netstudy.store import storage, write_atomic

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

ColumnType = Literal["string", "bool", "int64", "uint64", "float64", "list<string>"]

ROW_GROUP_ROWS: Final = 131_072
"""Number of rows in a row group of a Parquet file; a row group is held in memory in addition to one
run."""
COLUMNS_KEY: Final = "netstudy.columns"
"""Key in the metadata of a Parquet file under which the units and meanings of all columns are
stored as JSON, for readers such as DuckDB that cannot read the metadata of columns."""


@dataclass(frozen=True)
class Column:
    """A column: its name, its type, its unit and what it means."""

    name: str
    type: ColumnType
    unit: str
    """Empty for names and plain counts."""
    meaning: str


@dataclass(frozen=True)
class Constant:
    """A value that is the same in all rows of a part; None: null in all rows."""

    value: Any


@dataclass(frozen=True)
class Part:
    """Some rows of a table: each column has either a list of values, or one value for all rows."""

    rows: int
    columns: Sequence[Sequence[Any] | Constant]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a results folder, read on use.

    A value that was not measured is null, never 0. The table is an Arrow stream itself
    (`__arrow_c_stream__`): `pyarrow.table(t)`, `polars.DataFrame(t)` and DuckDB's
    `select * from t` read it as it is.
    """

    name: str
    """`cells`, or the name of the samples."""
    columns: tuple[Column, ...]
    about: Mapping[str, str]
    """Study, testbed, seed and version of netstudy, as stored in Parquet files."""
    parts: Callable[[], Iterator[Part]] = field(repr=False)
    """Reads the rows part by part, from the start at each call."""

    def to_arrow(self) -> pyarrow.Table:
        """A `pyarrow.Table`; metadata of each column: `unit` and `meaning`.

        Raises MissingPackageError (a NetstudyError and an ImportError) without pyarrow.
        """
        return self._reader().read_all()

    def to_pandas(self) -> pandas.DataFrame:
        """A `pandas.DataFrame`. Integers are `Int64` or `UInt64` and truth values `boolean`, which
        keep their types when values are missing (`NA`); other numbers are `float64` with NaN.

        Raises MissingPackageError without pandas and pyarrow.
        """
        pandas = package("pandas")
        kinds = {
            "int64": pandas.Int64Dtype(),
            "uint64": pandas.UInt64Dtype(),
            "bool": pandas.BooleanDtype(),
        }
        return self.to_arrow().to_pandas(types_mapper=lambda found: kinds.get(str(found)))

    def to_polars(self) -> polars.DataFrame:
        """A `polars.DataFrame`. Raises MissingPackageError without polars and pyarrow."""
        return package("polars").DataFrame(self)

    def write_parquet(self, path: str | Path) -> None:
        """Write the table as Parquet (zstd), in one step: a whole file or none.

        It needs memory for the largest run and a row group. Units and meanings are metadata of the
        columns, and of the file as JSON under `netstudy.columns`. Raises MissingPackageError
        without pyarrow, StudyError if the file cannot be written.
        """
        with storage(Path(path)):
            write_atomic(Path(path), self.parquet())

    def parquet(self) -> Iterator[bytes]:
        """The bytes of the Parquet file, part by part."""
        pa, pq = package("pyarrow"), module("pyarrow.parquet")
        sink = _Sink()
        schema = self._schema()
        with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
            for batches in _groups(self._batches(schema)):
                writer.write_table(pa.Table.from_batches(batches, schema))
                yield sink.take()
        yield sink.take()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow C stream (the Arrow PyCapsule interface), read as they are used."""
        return self._reader().__arrow_c_stream__(requested_schema)

    def _reader(self) -> Any:
        schema = self._schema()
        return package("pyarrow").RecordBatchReader.from_batches(schema, self._batches(schema))

    def _schema(self) -> Any:
        pa = package("pyarrow")
        described = {one.name: {"unit": one.unit, "meaning": one.meaning} for one in self.columns}
        of_file = {**self.about, COLUMNS_KEY: json.dumps(described, ensure_ascii=False)}
        fields = [
            pa.field(one.name, _arrow_type(one.type), metadata=described[one.name])
            for one in self.columns
        ]
        return pa.schema(fields, metadata=of_file)

    def _batches(self, schema: Any) -> Iterator[Any]:
        pa = package("pyarrow")
        for part in self.parts():
            arrays = [
                _array(values, one.type, part.rows)
                for values, one in zip(part.columns, schema, strict=True)
            ]
            yield pa.record_batch(arrays, schema=schema)


def _arrow_type(named: ColumnType) -> Any:
    pa = package("pyarrow")
    return pa.list_(pa.string()) if named == "list<string>" else pa.type_for_alias(named)


def _array(values: Sequence[Any] | Constant, type_: Any, rows: int) -> Any:
    pa = package("pyarrow")
    if not isinstance(values, Constant):
        return pa.array(values, type_)
    if values.value is None:
        return pa.nulls(rows, type_)
    return pa.repeat(pa.scalar(values.value, type_), rows)


def _groups(batches: Iterable[Any]) -> Iterator[list[Any]]:
    """Combines batches into row groups; a batch that is larger than a row group is split."""
    held: list[Any] = []
    rows = 0
    for batch in batches:
        for start in range(0, batch.num_rows, ROW_GROUP_ROWS):
            held.append(batch.slice(start, ROW_GROUP_ROWS))
            rows += held[-1].num_rows
            if rows >= ROW_GROUP_ROWS:
                yield held
                held, rows = [], 0
    if held:
        yield held


class _Sink:
    """A file object for pyarrow that buffers written bytes until they are taken."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Does nothing: written bytes are available at once."""

    def close(self) -> None:
        self.closed = True

    def take(self) -> bytes:
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken
