"""A results folder as tables: what `netstudy.open` returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netstudy import __version__
from netstudy.analysis.cells import CellRow, CellTable, cell_table
from netstudy.analysis.metrics import Metric
from netstudy.analysis.workloads import workload_of
from netstudy.data.columns import (
    CASES,
    REPLICATE,
    RUN,
    SAMPLE_INDEX,
    STATUS,
    FactorColumns,
    levels_of,
    metric_columns,
    sample_columns,
)
from netstudy.data.samples import BY_SECOND, TABLES, rows_by_run
from netstudy.data.table import Constant, Part, Table
from netstudy.report.export import exported
from netstudy.store import Results

if TYPE_CHECKING:
    from netstudy.store import Folder


def open(run: str | Path | None = None, *, results: str | Path = "results") -> StudyData:
    """Open a results folder that is finished.

    `run` is the folder, or the name of a study for its newest folder within `results`; None: the
    newest folder of all. Raises `netstudy.NetstudyError` if there is none or it is not finished;
    the message says what would be right.
    """
    return StudyData(Results(Path(results)).resolve(None if run is None else str(run), done=True))


@dataclass(frozen=True, eq=False)
class StudyData:
    """The tables of one results folder. Nothing is read before it is asked for."""

    folder: Folder

    @property
    def path(self) -> Path:
        """The results folder."""
        return self.folder.path

    @property
    def study(self) -> str:
        """The name of the study."""
        return self.folder.plan().study

    def cells(self, *, intervals: bool = False) -> Table:
        """One row for each cell, as `netstudy export --csv` prints it: the factors, then the
        metrics, replicates pooled. A level keeps its type: an integer, a number, a truth value or a
        text; a factor with levels of several types is text.

        With several test cases, `cases` comes first: the list of those that use the cell. With
        `intervals`, each metric is followed by `<metric>_low` and `<metric>_high`, the ends of its
        95 % confidence interval, null if nothing was repeated.
        """
        table = self._cells
        metrics = exported(table)
        values = [one for metric in metrics for one in metric_columns(metric, intervals=intervals)]
        cases = [CASES] if len(table.cases) > 1 else []
        taken = [CASES.name, *(one.name for one in values)]
        factors = FactorColumns.of(levels_of(self.folder.plan().runs), taken)

        def parts() -> Iterator[Part]:
            rows = [
                [
                    *([list(row.cases)] if cases else []),
                    *factors.levels(row.treatment),
                    *_values(row, metrics, intervals=intervals),
                ]
                for row in table.rows
            ]
            yield Part(len(rows), list(zip(*rows, strict=True)))

        return Table("cells", (*cases, *factors.columns, *values), self._about, parts)

    def samples(self, table: str | None = None, *, invalid: bool = False) -> Table:
        """One row for each sample, as `netstudy export --samples` prints it.

        `table` is `iteration`, `connection`, `transfer`, `second`, `request` (the buckets of
        latency histograms), `series` (what was sampled), or a metric of a node such as
        `app.send_mbps`; None: what the workload counts, or its seconds.

        Columns: `run` (its id), the factors, `replicate`, `status` (of the run: `ok` or `invalid`)
        and `sample_index` (place within the run, from 0), then those of the table. Times are
        integers in ns. Rows of invalid runs, which no metric uses, are left out unless `invalid`.

        Rows are read run by run. Raises `netstudy.NetstudyError` for an unknown table; one that
        the study has no samples of is empty.
        """
        chosen = table or self._counted()
        own = sample_columns(chosen)
        taken = [one.name for one in (RUN, REPLICATE, STATUS, SAMPLE_INDEX, *own)]
        factors = FactorColumns.of(levels_of(self.folder.plan().runs), taken)

        def parts() -> Iterator[Part]:
            for found in rows_by_run(self.folder, chosen):
                if found.status == "ok" or invalid:
                    run = found.run
                    head = (run.id, *factors.levels(run.treatment), run.replicate, found.status)
                    of_run = [Constant(None) if one is None else one for one in found.columns]
                    index = range(found.rows)
                    yield Part(found.rows, [*map(Constant, head), index, *of_run])

        columns = (RUN, *factors.columns, REPLICATE, STATUS, SAMPLE_INDEX, *own)
        return Table(chosen, columns, self._about, parts)

    def _counted(self) -> str:
        """The table of what the workload counts; for one that only lasts for a time, of what each
        second carried; the first table if there is neither."""
        noun = workload_of(self.folder.plan()).counted.noun
        for _, record in self.folder.each_record():
            for table in (noun, BY_SECOND):
                if getattr(record.samples, table, None):
                    return table
        return TABLES[0]

    @cached_property
    def _cells(self) -> CellTable:
        return cell_table(self.folder)

    @cached_property
    def _about(self) -> dict[str, str]:
        asked = self.folder.invocation()
        return {
            "netstudy.study": self.study,
            "netstudy.testbed": asked.testbed,
            "netstudy.seed": str(asked.seed),
            "netstudy.version": __version__,
        }


def _values(row: CellRow, metrics: Sequence[Metric], *, intervals: bool) -> Iterator[Any]:
    for metric in metrics:
        estimate = row.estimate(metric)
        yield None if estimate is None else estimate.value
        if intervals:
            interval = None if estimate is None else estimate.interval
            yield from (None, None) if interval is None else (interval.low, interval.high)
