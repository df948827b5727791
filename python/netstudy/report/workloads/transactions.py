"""Transactions in words and as a drawing of the tiers, and tables with the statistics that load
generators print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netstudy.analysis.cells import CellRow
from netstudy.analysis.distribution import Histogram
from netstudy.analysis.order_statistics import carries
from netstudy.analysis.samples import NS_PER_MS, RunSample
from netstudy.analysis.workloads.transactions import (
    latency_histogram,
    operations_of,
    total,
    work_of,
)
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import plain, treatment_text
from netstudy.report.numbers import measured as quantity_of
from netstudy.report.prose.words import NOTHING, number_range, things
from netstudy.report.refs import Name, Number, Sentence, say
from netstudy.report.svg import FAINT, Drawing
from netstudy.report.tables import Group, Table, Value, numeric_level
from netstudy.report.workloads.base import (
    BAR_FILLS,
    Illustration,
    WorkloadPage,
    agreeing,
    duration_range,
    measured,
    members,
    phase_line,
    role_name,
    texts,
)
from netstudy.units import format_size
from netstudy.wire import (
    Brokerage,
    ClosedLoad,
    OpenLoad,
    PhaseKind,
    Program,
    Run,
    Transactions,
)

PS_PER_S = 1e12


# ---- in words


def _description(runs: Sequence[Run]) -> list[Sentence]:
    works = [work_of(run) for run in runs]
    return [
        say(
            "{measured}: {load} {submit} operations of {application} by HTTP on connections that "
            "stay open, from {generators}; {when}.",
            measured=measured(runs, "transaction"),
            load=_load(works),
            submit=agreeing("submit", _load(works)),
            application=Name(texts(map(_application, works))),
            generators=members(runs, "client", "generator"),
            when=_when(works),
        ),
        say("The mix: {mix}.", mix=Name(texts(map(_mix, works)))),
        *_tiers(works),
        *_procedure(runs),
        say(
            "A page element is one answer of HTTP, a transaction one operation. Response times "
            "count from the time at which an operation or a request was due, service times from "
            "the time at which its request was sent."
        ),
        *_one_observation(works),
    ]


def _load(works: Sequence[Transactions]) -> Sentence:
    users = [work.load.users for work in works]
    return things(number_range(users, "users of the plan"), "user")


def _application(work: Transactions) -> str:
    if isinstance(work.application, Program):
        return work.application.start[0].rpartition("/")[2]
    return "the brokerage"


_THINKING = {"fixed": "", "exponential": " on average, exponentially distributed,"}


def _when(works: Sequence[Transactions]) -> Sentence:
    """Whether the loop is closed or open. Readers must know, because a closed loop hides
    slowness."""
    opened = [work.load for work in works if isinstance(work.load, OpenLoad)]
    if not opened:
        closed = [work.load for work in works if isinstance(work.load, ClosedLoad)]
        think = duration_range([load.think_ns for load in closed], "think time of the plan")
        pause = say(" at once")
        if think.value:
            kinds = texts(_THINKING[load.think] for load in closed)
            pause = say(" after a think time of {think}{kinds}", think=think, kinds=Name(kinds))
        return say("each waits for its answer and submits again{pause} (closed loop)", pause=pause)
    rates = sorted({PS_PER_S / load.interval_ps for load in opened})
    kinds = texts(_ARRIVALS[load.arrivals] for load in opened)
    return say(
        "{rate} submissions a second are due, {arrivals}, answered or not (open loop)",
        rate=_range(rates, "rate of the plan"),
        arrivals=Name(kinds),
    )


_ARRIVALS = {"poisson": "independent of each other (Poisson)", "uniform": "evenly spaced"}


def _range(values: Sequence[float], source: str) -> Number:
    low, high = values[0], values[-1]
    ends = [f"{one:,.0f}" if one >= 10 else f"{one:g}" for one in (low, high)]
    return Number(high, ends[0] if low == high else " to ".join(ends), source)


def _mix(work: Transactions) -> str:
    shares = sorted(work.mix, key=lambda one: -one.share_ppm)
    return listed([f"{one.name} {one.share_ppm / 1e4:g} %" for one in shares if one.share_ppm])


def _tiers(works: Sequence[Transactions]) -> Iterator[Sentence]:
    """The settings of the application and its database."""
    brokerages = [work.application for work in works if isinstance(work.application, Brokerage)]
    if not brokerages:
        return
    yield say(
        "The database holds {users} users and {quotes} stocks, {data}; the application has {pool} "
        "to it.",
        users=number_range([one.users for one in brokerages], "users of the plan"),
        quotes=number_range([one.quotes for one in brokerages], "stocks of the plan"),
        data=Name(texts(map(_place_of_data, brokerages))),
        pool=things(
            number_range([one.pool_connections for one in brokerages], "pool of the plan"),
            "connection",
        ),
    )


def _place_of_data(brokerage: Brokerage) -> str:
    if brokerage.existing is not None:
        return "in an existing server"
    return _DATA[brokerage.data]


_DATA = {"ram": "on a RAM disk", "disk": "on a disk"}
_STEPS: dict[PhaseKind, str] = {
    "load": "the database is loaded",
    "configure": "it is configured",
    "gather-statistics": "the database gathers its statistics",
    "warm-up": "the workload warms up",
    "stop": "the workload stops",
    "reset": "the data are reset",
    "measure": "the workload starts again and is measured",
}


def _procedure(runs: Sequence[Run]) -> Iterator[Sentence]:
    """The steps of a run, in order."""
    kinds = [phase.kind for phase in runs[0].phases if phase.kind in _STEPS]
    if len(kinds) > 2:
        steps = [_STEPS[kind] for kind in kinds]
        yield say("In order: {steps}.", steps=Name(listed(steps)))


def _one_observation(works: Sequence[Transactions]) -> Iterator[Sentence]:
    """A sentence for a closed loop without think time, where throughput determines the response
    time."""
    if all(isinstance(work.load, ClosedLoad) and not work.load.think_ns for work in works):
        yield say(
            "Without think time ETR × response time is the number of users in every row: the two "
            "are one observation, and the response time by N/X checks the measured one."
        )


# ---- as a drawing


def _illustration(runs: Sequence[Run]) -> str:
    """Draws generators, application and database from left to right, with the protocols between
    them."""
    tiers = _names(runs)
    drawing = Drawing(560, 175)
    width, gap, top = 124, 80, 30
    for index, (name, text) in enumerate(tiers):
        left = 10 + index * (width + gap)
        drawing.box(left, top, width, 64, BAR_FILLS[index] + "22")
        middle = left + width / 2
        drawing.text(middle, top + 28, name, anchor="middle", bold=True, width=width - 10)
        drawing.text(middle, top + 48, text, anchor="middle", size=12, width=width - 10)
    between = ["HTTP", "SQL"][: len(tiers) - 1]
    for index, word in enumerate(between):
        left = 10 + width + index * (width + gap)
        _both_ways(drawing, left, left + gap, top + 32)
        drawing.text(left + gap / 2, top + 20, word, anchor="middle", size=12)
    drawing.text(10, 124, _lines(runs), size=13, colour=FAINT, width=540)
    return drawing.render()


def _both_ways(drawing: Drawing, left: float, right: float, y: float) -> None:
    """Draws a horizontal arrow with a head at each end."""
    drawing.line(left + 4, y, right - 4, y)
    for x, back in ((left + 4, 6), (right - 4, -6)):
        drawing.line(x, y, x + back, y - 3.5)
        drawing.line(x, y, x + back, y + 3.5)


def _names(runs: Sequence[Run]) -> list[tuple[str, str]]:
    work = work_of(runs[0])
    found = [
        (role_name(runs[0], "client"), _asked(runs)),
        (role_name(runs[0], "server"), _application(work)),
    ]
    if work.roles.database:
        found.append((role_name(runs[0], "database"), _engine(work)))
    return found


def _asked(runs: Sequence[Run]) -> str:
    """The number of users, or of submissions per second."""
    loads = [work_of(run).load for run in runs]
    rates = sorted({PS_PER_S / load.interval_ps for load in loads if isinstance(load, OpenLoad)})
    if rates:
        return f"{_range(rates, 'rate of the plan')} a second"
    users = sorted({load.users for load in loads})
    many = f"{users[0]}" if len(users) == 1 else f"{users[0]} to {users[-1]}"
    return f"{many} users"


def _engine(work: Transactions) -> str:
    if isinstance(work.application, Brokerage):
        return {"postgresql": "PostgreSQL", "sqlite": "SQLite"}[work.application.database]
    return "database"


def _lines(runs: Sequence[Run]) -> list[str]:
    when = str(_when([work_of(run) for run in runs]))
    return [f"{when[:1].upper()}{when[1:]}", phase_line(runs, "transaction")]


def _alt(runs: Sequence[Run]) -> str:
    tiers = [f"{name} ({text})" for name, text in _names(runs)]
    return f"The tiers, from left to right: {', '.join(tiers)}. {' '.join(_lines(runs))}"


# ---- statistics for people


def _tables(rows: Sequence[CellRow], key: str) -> list[Table]:
    measured_rows = [row for row in rows if row.runs]
    if not measured_rows:
        return []
    found = [_statistics(measured_rows, f"{key}-statistics")]
    found += _operations(measured_rows, f"{key}-operations")
    found += _errors(measured_rows, f"{key}-errors")
    return found


def _stub(rows: Sequence[CellRow]) -> list[str]:
    """The factors that distinguish the rows; if none does, the first factor."""
    names = list(dict.fromkeys(name for row in rows for name in row.treatment))
    several = [name for name in names if len({row.treatment.get(name) for row in rows}) > 1]
    return several or names[:1]


def _head(row: CellRow, names: Sequence[str]) -> list[Value]:
    return [numeric_level(row.treatment.get(name), name) for name in names]


def _sum(row: CellRow, *columns: str) -> float | None:
    """The sum of some columns over all runs of a cell; None if a value is missing."""
    values = [total(run, column) for run in row.runs for column in columns]
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _time(row: CellRow) -> float:
    return sum(run.measure_s or 0.0 for run in row.runs)


def _statistics(rows: Sequence[CellRow], table_id: str) -> Table:
    """The statistics that generators print, summed over all runs of each cell."""
    names = _stub(rows)
    groups = (
        *map(Group, names),
        Group("Run time", "s"),
        Group("Clients"),
        Group("Page elements", columns=("number", "1/s")),
        Group("Transactions", columns=("number", "1/s")),
        Group("Errors", columns=("network", "server")),
        Group("Bytes", columns=("read", "written")),
        Group("Mean response time", "ms"),
        Group("Not met"),
    )
    caption = say("Statistics of the generators, all runs of a cell together")
    return Table(
        table_id,
        caption,
        groups,
        tuple((*_head(row, names), *_block(row)) for row in rows),
        stub=len(names),
    )


def _block(row: CellRow) -> Iterator[Value]:
    where, seconds = treatment_text(row.treatment), _time(row)
    users = work_of(row.planned[0]).load.users
    elements, done = _sum(row, "page_elements"), _sum(row, "completed")
    yield plain(seconds, 1, "", f"measuring phases together, {where}")
    yield plain(users, 0, "", f"users, {where}")
    for count, what in ((elements, "page elements"), (done, "transactions")):
        yield _whole(count, f"{what}, {where}")
        yield _number(count and count / seconds, 1, f"{what} ÷ run time, {where}")
    for column in ("network_errors", "server_errors"):
        yield _whole(_sum(row, column), f"{column}, {where}")
    for column in ("bytes_read", "bytes_written"):
        yield _bytes(_sum(row, column), f"{column}, {where}")
    found = latency_histogram(row.runs, "page element", "response")
    mean = found.sum_ns / found.count / NS_PER_MS if found and found.count else None
    yield _number(mean, 2, f"response times ÷ page elements, {where}")
    yield _whole(_sum(row, "not_met"), f"submissions due and not begun, {where}")


def _whole(value: float | None, source: str) -> Number | None:
    return None if value is None else Number(value, f"{value:,.0f}", source)


def _number(value: float | None, decimals: int, source: str) -> Number | None:
    return None if value is None else Number.of(value, quantity_of(value, decimals), source)


def _bytes(value: float | None, source: str) -> Number | None:
    return None if value is None else Number(value, format_size(_rounded(int(value))), source)


def _rounded(value: int) -> int:
    """A number of bytes, rounded to four digits."""
    digits = len(str(value))
    return round(value, 4 - digits) if digits > 4 else value


_PERCENTILES = (("median", 0.5), ("p90", 0.9), ("p99", 0.99))


def _operations(rows: Sequence[CellRow], table_id: str) -> Iterator[Table]:
    """One row for each operation, from the cell with the most transactions per second."""
    row = max(rows, key=lambda one: (_sum(one, "completed") or 0.0) / (_time(one) or 1.0))
    where = treatment_text(row.treatment)
    lines = [
        line
        for name in operations_of(row.runs[0])
        if (line := _operation(row, name, where)) is not None
    ]
    if lines:
        groups = (
            Group("Operation"),
            Group("Completed"),
            Group("Errors"),
            Group("Page elements"),
            Group("Response time", "ms", columns=("mean", *(name for name, _ in _PERCENTILES))),
        )
        caption = say(
            "Operations of the cell with the most transactions a second{where}",
            where=_in(where),
        )
        yield Table(table_id, caption, groups, tuple(lines))


def _in(where: str) -> Sentence:
    return say(" ({where})", where=Name(where)) if where else NOTHING


def _operation(row: CellRow, name: str, where: str) -> tuple[Value, ...] | None:
    found = latency_histogram(row.runs, name, "response")
    if found is None:
        return None
    source = f"{name}, {where}"
    mean = found.sum_ns / found.count / NS_PER_MS if found.count else None
    return (
        Name(name),
        _whole(_of(row.runs, name, "completed"), source),
        _whole(_of(row.runs, name, "network_errors", "server_errors"), source),
        _whole(_of(row.runs, name, "page_elements"), source),
        _number(mean, 2, f"mean response time of {source}"),
        *(_number(_percentile(found, q), 2, f"{word} of {source}") for word, q in _PERCENTILES),
    )


def _of(runs: Sequence[RunSample], operation: str, *columns: str) -> float:
    return sum(total(run, column, operation) or 0.0 for run in runs for column in columns)


def _percentile(found: Histogram, q: float) -> float | None:
    return found.quantile_ns(q) / NS_PER_MS if carries(q, found.count) else None


def _errors(rows: Sequence[CellRow], table_id: str) -> Iterator[Table]:
    """A table of errors by operation and reason, if there are any."""
    counts: dict[tuple[str, str], int] = {}
    runs: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        for run in row.runs:
            table = run.record.samples.error
            if table is None:
                continue
            for name, reason, number in zip(
                table.operation, table.reason, table.count, strict=True
            ):
                counts[name, reason] = counts.get((name, reason), 0) + number
                # The number of runs is given too, because a single broken run can have thousands of
                # errors.
                runs.setdefault((name, reason), set()).add(run.run)
    if not counts:
        return
    lines = tuple(
        (
            Name(name),
            Name(reason),
            Number(number, f"{number:,}", f"{reason} of {name}"),
            Number(len(runs[name, reason]), f"{len(runs[name, reason])}", "runs that had it"),
        )
        for (name, reason), number in sorted(counts.items(), key=lambda one: -one[1])
    )
    groups = (Group("Operation"), Group("Reason"), Group("Number"), Group("Runs"))
    yield Table(table_id, say("Errors by their reason, all cells together"), groups, lines, stub=2)


TRANSACTIONS = WorkloadPage(
    description=_description,
    illustration=Illustration(_illustration, _alt, "Users, application and database."),
    senders="the hosts of all tiers",
    sized=say("sizes of pages"),
    tables=_tables,
    tables_heading="Statistics of the generators",
)
