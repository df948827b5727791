"""A results folder as tables: what `netstudy.open` returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.metrics import Metric
from netstudy.analysis.related import cell_table
from netstudy.analysis.workloads import workload_of
from netstudy.data.columns import (
    CASES,
    REPLICATE,
    RUN,
    RUNS,
    SAMPLE_INDEX,
    STATUS,
    FactorColumns,
    levels_of,
    metric_columns,
    sample_columns,
)
from netstudy.data.samples import BY_SECOND, TABLES, rows_by_run
from netstudy.data.table import Constant, Part, Table
from netstudy.data.verdicts import Verdict, verdicts_of
from netstudy.data.wanted import Wanted
from netstudy.report.export import exported
from netstudy.store import Results
from netstudy.version import __version__

if TYPE_CHECKING:
    from netstudy.store import Folder


def open(run: str | Path | None = None, *, results: str | Path = "results") -> StudyData:
    """Open a results folder with all of its runs.

    `run` is the folder, or a study for its newest folder within `results`: its name, its path, or
    the name of the folder that it was run from; None: the newest folder of all. Raises
    `netstudy.NetstudyError` if there is none or it lacks runs; the message says what to do.
    """
    return StudyData(Results(Path(results)).resolve(None if run is None else str(run), done=True))


@dataclass(frozen=True, eq=False)
class StudyData:
    """The tables of one results folder, each read on first use."""

    folder: Folder

    @property
    def path(self) -> Path:
        """The results folder."""
        return self.folder.path

    @property
    def study(self) -> str:
        """The name of the study."""
        return self.folder.plan().study

    def cells(self, *, intervals: bool = False, runs: bool = False) -> Table:
        """One row for each cell, as `netstudy export --csv` prints it: the factors, then the
        metrics, replicates pooled. A level keeps its type: integer, number, boolean or text; a
        factor with levels of several types is text.

        With several test cases, `cases` comes first: the list of test cases that use the cell. With
        `intervals`, each metric is followed by `<metric>_low` and `<metric>_high`, the ends of its
        95 % confidence interval, null without repetitions. With `runs`, the factors are followed
        by the numbers of valid and of planned runs, `runs_valid` and `runs_planned`.
        """
        table = self._cells
        metrics = exported(table)
        numbers = RUNS if runs else ()
        values = [one for metric in metrics for one in metric_columns(metric, intervals=intervals)]
        cases = [CASES] if len(table.cases) > 1 else []
        taken = [CASES.name, *(one.name for one in (*numbers, *values))]
        factors = FactorColumns.of(levels_of(self.folder.plan().runs), taken)

        def parts() -> Iterator[Part]:
            rows = [
                [
                    *([list(row.cases)] if cases else []),
                    *factors.levels(row.treatment),
                    *((len(row.runs), len(row.planned)) if runs else ()),
                    *_values(row, metrics, intervals=intervals),
                ]
                for row in table.rows
            ]
            yield Part(len(rows), list(zip(*rows, strict=True)))

        return Table("cells", (*cases, *factors.columns, *numbers, *values), self.about, parts)

    def replicates(self) -> Table:
        """One row for each run, in the order of the plan: the values that its cell pools.

        Columns: `run` (its id), the factors, `replicate`, then the metrics of `cells` for this run;
        null if the run has no value, such as a percentile of too few samples. Failed and invalid
        runs, which no metric uses, are left out.
        """
        metrics = exported(self._cells)
        values = [one for metric in metrics for one in metric_columns(metric, intervals=False)]
        taken = [one.name for one in (RUN, REPLICATE, *values)]
        factors = FactorColumns.of(levels_of(self.folder.plan().runs), taken)
        values_of = {
            run: each for row in self._cells.rows for run, each in values_of_runs(row, metrics)
        }

        def parts() -> Iterator[Part]:
            rows = [
                [
                    planned.id,
                    *factors.levels(planned.treatment),
                    planned.replicate,
                    *values_of[planned.id],
                ]
                for planned in self.folder.plan().runs
                if planned.id in values_of
            ]
            yield Part(len(rows), list(zip(*rows, strict=True)))

        return Table("replicates", (RUN, *factors.columns, REPLICATE, *values), self.about, parts)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of the study's `compare`: for each of its metrics, each level against the
        base, in the order of the report. Empty if the study compares nothing."""
        from netstudy.analysis.study_result import analyse

        return verdicts_of(analyse(self.folder))

    def samples(
        self,
        table: str | None = None,
        *,
        invalid: bool = False,
        node: str | None = None,
        counter: str | None = None,
        interval: str | None = None,
    ) -> Table:
        """One row for each sample, as `netstudy export --samples` prints it.

        `table` is `iteration`, `connection`, `transfer`, `second`, `request` (the buckets of
        latency histograms), `series` (the readings of samplers), `time` (the parts of the accounts
        of time), or a metric of a node such as `app.send_mbps`; None: the table of the workload's
        own samples, else `second`.

        Columns: `run` (its id), the factors, `replicate`, `status` (of the run: `ok` or `invalid`)
        and `sample_index` (place within the run, from 0), then the table's own. Times are integers
        in ns, or in ps in the table `time`. Rows of invalid runs, which no metric uses, are left
        out unless `invalid`.

        Only for `series`: `node` keeps a node or the nodes of a group, `counter` one counter, and
        `interval` a span of the measuring phase, such as "2s..5s", or one sample per interval of
        this length, such as "1s".

        Rows are read run by run. Raises `netstudy.NetstudyError` for an unknown table; a known
        table without samples is empty.
        """
        chosen = table or self._counted()
        wanted = Wanted.of(chosen, node=node, counter=counter, interval=interval)
        return sample_table(self, chosen, wanted, invalid=invalid)

    def _counted(self) -> str:
        """The table of the workload's own samples, such as iterations; if it has none, `second`, as
        for transfers without an end; if that has none either, the first of all tables."""
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
    def about(self) -> dict[str, str]:
        """Study, testbed, seed and version of netstudy."""
        asked = self.folder.invocation()
        return {
            "netstudy.study": self.study,
            "netstudy.testbed": asked.testbed,
            "netstudy.seed": str(asked.seed),
            "netstudy.version": __version__,
        }


def sample_table(study: StudyData, chosen: str, wanted: Wanted, *, invalid: bool) -> Table:
    """The table of `StudyData.samples`; `wanted` selects a part of the series."""
    own = sample_columns(chosen)
    taken = [one.name for one in (RUN, REPLICATE, STATUS, SAMPLE_INDEX, *own)]
    factors = FactorColumns.of(levels_of(study.folder.plan().runs), taken)

    def parts() -> Iterator[Part]:
        for found in rows_by_run(study.folder, chosen, wanted):
            if found.status == "ok" or invalid:
                run = found.run
                head = (run.id, *factors.levels(run.treatment), run.replicate, found.status)
                of_run = [Constant(None) if one is None else one for one in found.columns]
                index = range(found.rows)
                yield Part(found.rows, [*map(Constant, head), index, *of_run])

    columns = (RUN, *factors.columns, REPLICATE, STATUS, SAMPLE_INDEX, *own)
    return Table(chosen, columns, study.about, parts)


def values_of_runs(
    row: CellRow, metrics: Sequence[Metric]
) -> Iterator[tuple[str, tuple[float | None, ...]]]:
    """The ids of the runs of a cell, each with its values of these metrics."""
    row.runs.gather(
        {key: part for metric in metrics for key, part in metric.reading.demands().items()}
    )
    columns = [metric.reading.of_each(row.runs) for metric in metrics]
    for place, run in enumerate(row.runs.ids):
        yield run, tuple(column[place] for column in columns)


def _values(row: CellRow, metrics: Sequence[Metric], *, intervals: bool) -> Iterator[Any]:
    for metric in metrics:
        estimate = row.estimate(metric)
        yield None if estimate is None else estimate.value
        if intervals:
            interval = None if estimate is None else estimate.interval
            yield from (None, None) if interval is None else (interval.low, interval.high)
