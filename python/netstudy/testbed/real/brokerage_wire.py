"""The plan, the commands and the records of the brokerage (`netstudy-engine brokerage`).

The first line of the program's standard input is the plan, and each further line is a command. Each
line of its standard output is a record. The engine's own types are in
`crates/records/src/brokerage_plan.rs`; both sets of types are tested against
`schema/examples/brokerage-*.jsonl`. Times are nanoseconds of CLOCK_MONOTONIC, which all processes
of a machine share.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter

from netstudy.testbed.real.wire import (
    Endpoint,
    EndRecord,
    ErrorRecord,
    SnapshotCommand,
    StopCommand,
)
from netstudy.wire_model import Wire

BROKERAGE_PLAN_SCHEMA: Final = "netstudy/brokerage/1"
BROKERAGE_RECORD_SCHEMA: Final = "netstudy/brokerage-record/1"

Operation = Literal[
    "account",
    "buy",
    "home",
    "login",
    "logout",
    "portfolio",
    "quotes",
    "register",
    "sell",
    "update",
]
"""The operations of the brokerage."""


class SqliteDatabase(Wire):
    """Embedded SQLite: the database's CPU time is part of the application server's."""

    kind: Literal["sqlite"] = "sqlite"
    file: str
    """The write-ahead log is in the same folder."""


class PostgresqlDatabase(Wire):
    """A PostgreSQL server."""

    kind: Literal["postgresql"] = "postgresql"
    host: str
    """An address, or the folder of the server's Unix socket."""
    port: int = Field(default=5432, ge=1, le=65535)
    """The port is also part of the name of the server's Unix socket."""
    user: str
    database: str
    password: str | None = Field(default=None, repr=False)
    """None: the server does not ask for a password."""


class BrokeragePopulation(Wire):
    """The data that `load` fills the database with."""

    users: int = Field(default=15_000, ge=1, le=1_000_000)
    """Users `uid:0` to `uid:N-1`."""
    quotes: int = Field(default=10_000, ge=1, le=1_000_000)
    """Quotes `s:0` to `s:N-1`."""
    seed: str
    """The same seed gives the same population, byte for byte."""


class BrokerageSettings(Wire):
    """Settings that select a variant of the application."""

    statement_cache: bool = True
    """Each connection keeps its prepared statements; else each statement is prepared every time."""
    durable_commits: bool = True
    """A commit waits until its log is on the disk. Otherwise the last commits are lost if the
    machine or the database server crashes, but the books still balance."""
    page_images: int = Field(default=0, ge=0, le=9)
    """Number of images on each page; browsers fetch each image as a further page element."""
    session_limit: int = Field(default=20_000, ge=1)
    """The largest number of simultaneous sessions; when one more begins, the oldest ends."""
    request_timeout_ms: int = Field(default=10_000, ge=100)
    """The header of a request must be complete within this time, and so must its body."""
    idle_timeout_ms: int = Field(default=300_000, ge=100)
    """Time after which a connection without a request is closed."""


class BrokeragePlan(Wire):
    """The configuration of the application server and its database."""

    schema_: Literal["netstudy/brokerage/1"] = Field(default=BROKERAGE_PLAN_SCHEMA, alias="schema")
    run: str
    node: str
    """For messages."""
    listen: Endpoint
    """With port 0 the kernel chooses a port."""
    database: Annotated[SqliteDatabase | PostgresqlDatabase, Field(discriminator="kind")]
    pool_connections: int = Field(default=10, ge=1, le=1000)
    """Connections to the database: if there are more simultaneous operations, they wait for a
    connection."""
    worker_threads: int = Field(default=2, ge=1, le=256)
    """Number of threads that handle requests; the threads of an embedded database are not
    counted."""
    population: BrokeragePopulation
    settings: BrokerageSettings = BrokerageSettings()
    time_limit_ms: int = Field(gt=0)
    """When this time is over, the process ends itself with an error."""


class LoadCommand(Wire):
    """Drop the tables, create them again, and fill them with the population. All sessions end."""

    command: Literal["load"] = "load"


class GatherStatisticsCommand(Wire):
    """Let the database gather statistics about its tables."""

    command: Literal["gather-statistics"] = "gather-statistics"


class ResetCommand(Wire):
    """Remove the traces of a run: registered users, orders of holdings that were sold, counts of
    log-ins. All sessions end."""

    command: Literal["reset"] = "reset"


class CheckCommand(Wire):
    """Check whether the books balance."""

    command: Literal["check"] = "check"


BrokerageCommand = Annotated[
    LoadCommand
    | GatherStatisticsCommand
    | ResetCommand
    | CheckCommand
    | SnapshotCommand
    | StopCommand,
    Field(discriminator="command"),
]


class BrokerageReady(Wire):
    """The first record. It means that the server listens and the database has answered."""

    kind: Literal["ready"] = "ready"
    schema_: Literal["netstudy/brokerage-record/1"] = Field(
        default=BROKERAGE_RECORD_SCHEMA, alias="schema"
    )
    version: str
    run: str
    node: str
    pid: int
    listening: Endpoint
    database: str
    """Name and version of the database, as it reports them."""


class BrokerageDone(Wire):
    """A command has been completed."""

    kind: Literal["done"] = "done"
    command: str
    took_ns: int
    counts: dict[str, int]
    """Number of rows, by table or by kind."""


class BrokerageFailed(Wire):
    """A command failed; the server continues to run."""

    kind: Literal["failed"] = "failed"
    command: str
    message: str


class BrokerageBooks(Wire):
    """The answer to `check`."""

    kind: Literal["books"] = "books"
    balanced: bool
    """True if the data break no law."""
    detail: tuple[str, ...]
    """Descriptions of the laws that the data break."""
    figures: dict[str, int]
    """Totals (in cents if the name says so), and for each law the number of rows that break it."""


class BrokerageCounters(Wire):
    """Counters since the process started. Each map has an entry for every name, even if the count
    is 0."""

    operations: dict[Operation, int]
    """Operations that succeeded."""
    errors: dict[str, int]
    """Operations and requests that failed, by the name of the error."""
    page_elements: int
    """Number of HTTP responses: pages, images and JSON answers, errors included."""
    responses: dict[Literal["2xx", "3xx", "4xx", "5xx"], int]
    """HTTP responses by class."""
    statements: int
    """Statements sent to the database."""
    transactions: int
    """Committed transactions that have more than one statement."""
    database_errors: dict[str, int]
    """Errors of the database by name, including errors after which a retry succeeded."""
    retries: int
    """How often an operation was repeated because the database was busy or aborted it to resolve a
    deadlock."""
    pool_waits: int
    """Operations that waited for a connection to the database."""
    pool_wait_ns: int
    """Total time for which these operations waited."""
    pool_busy_ns: int
    """Total time for which operations that have ended used a connection to the database."""
    threads_busy_ns: int
    """Total time for which the worker threads worked."""
    database_connects: int
    """Connections to the database that were opened."""
    bytes_in: int
    """Bytes received by HTTP connections."""
    bytes_out: int
    """Bytes sent by HTTP connections."""
    connections: int
    """HTTP connections that were accepted."""
    connections_open: int
    """HTTP connections that are open now."""
    sessions: int
    """Sessions now."""
    sessions_evicted: int
    """Sessions that were ended because there were too many."""


class BrokerageSnapshot(Wire):
    """All counters, in answer to a command."""

    kind: Literal["snapshot"] = "snapshot"
    name: str
    at_ns: int
    counters: BrokerageCounters


BrokerageRecord = Annotated[
    BrokerageReady
    | BrokerageDone
    | BrokerageFailed
    | BrokerageBooks
    | BrokerageSnapshot
    | ErrorRecord
    | EndRecord,
    Field(discriminator="kind"),
]
BROKERAGE_COMMAND: Final[TypeAdapter[BrokerageCommand]] = TypeAdapter(BrokerageCommand)
BROKERAGE_RECORD: Final[TypeAdapter[BrokerageRecord]] = TypeAdapter(BrokerageRecord)
