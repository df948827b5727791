"""Transactions: requests to an application with several tiers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Annotated, ClassVar, Final
from urllib.parse import SplitResult, urlsplit

from pydantic import Discriminator, Field, Tag, model_validator

from netstudy import wire
from netstudy.documents.fields import (
    Choice,
    Count,
    Decimals,
    IntervalValue,
    Pause,
    PercentValue,
    Ref,
    Typed,
    Whole,
    Words,
    WordsValue,
)
from netstudy.documents.problems import Path, Problem
from netstudy.documents.shapes import Word, WordFlag
from netstudy.documents.validation import Model, fault
from netstudy.knobs import model_with, settings
from netstudy.study.dsn import postgresql_dsn
from netstudy.study.places import Place, PlaceValue
from netstudy.study.topology import Topology
from netstudy.study.workloads.base import (
    LOSSES_PER_RUN,
    STATISTICS,
    MetricWords,
    Spec,
    Surroundings,
    WorkloadMetric,
)
from netstudy.wire import Level

Arrivals = Annotated[str | Ref, Typed(Choice(("poisson", "uniform"), "a process of arrivals"))]
Thinking = Annotated[
    str | Ref, Typed(Choice(("fixed", "exponential"), "a distribution of think times"))
]
Engine = Annotated[str | Ref, Typed(Choice(("postgresql", "sqlite"), "a database"))]
Images = Annotated[int | Ref, Typed(Whole(0, 9))]

DATABASE: Final = "db"
"""The host group of the database if the study names none."""


def http_url(text: str) -> SplitResult:
    """The parts of a URL of plain HTTP. Raises ValueError with advice on the right form."""
    url = urlsplit(text)
    if url.scheme == "https":
        raise ValueError("https is not supported: generators speak HTTP/1.1 without encryption")
    if url.scheme != "http" or not url.hostname:
        raise ValueError(f'"{text}" is not a URL such as http://app:8080/')
    if url.username is not None or url.fragment:
        raise ValueError("has a user or a fragment, which is not supported")
    return url


class Application(Model):
    """The application that users access: the brokerage, or any program that answers HTTP."""

    brokerage: WordFlag = False
    """The brokerage of netstudy."""
    start: tuple[WordsValue, ...] = ()
    """A program and its arguments: it is started and stopped on the application's host."""
    ready: WordsValue | None = None
    """URL that answers with success as soon as the program is ready; by default `url`."""
    url: WordsValue | None = None
    """URL of plain HTTP that users request, such as `http://app:8080/`. The program must listen on
    the port of this URL."""

    @model_validator(mode="after")
    def _is_one(self) -> Application:
        if self.brokerage:
            return self
        if not self.start or self.url is None:
            raise fault("needs start (the program and its arguments) and url")
        ports = {}
        for key in ("url", "ready"):
            if (text := getattr(self, key)) is None:
                continue
            try:
                ports[key] = http_url(text).port or 80
            except ValueError as error:
                raise fault(str(error), key) from None
        if len(set(ports.values())) > 1:
            raise fault("has a different port from url; the program has only one port", "ready")
        return self


class PasswordPlace(Model):
    """Where to find the password of a database's role. A study never contains the password itself,
    which would then be in all copies of the study."""

    env: WordsValue | None = None
    """An environment variable."""
    pgpass: WordsValue | None = None
    """Absolute path of a password file of libpq (`host:port:database:user:password`), which must
    not be readable for other users."""

    @model_validator(mode="after")
    def _is_one_place(self) -> PasswordPlace:
        if (self.env is None) == (self.pgpass is None):
            raise fault("needs exactly one place: {env: VARIABLE} or {pgpass: /path}")
        if self.pgpass is not None and not self.pgpass.startswith("/"):
            raise fault("must be an absolute path, such as /etc/netstudy/pgpass", "pgpass")
        return self


class BrokerageVariant(Model):
    """A named set of the brokerage's settings."""

    threads: Count | None = None
    """Threads of the application server."""
    pool: Count | None = None
    """Connections to the database."""
    images: Images = 0
    """Images per page; each adds a page element."""


def _without(fields: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: field for name, field in fields.items() if name not in names}


class Costs(model_with(Model, _without(settings(wire.Costs), "threads", "pool_connections"))):  # type: ignore[misc]
    """Costs of a page element in the simulator, as far as they differ from the profile."""


OPERATIONS: Final = (
    "home",
    "quotes",
    "logout",
    "login",
    "register",
    "account",
    "portfolio",
    "buy",
    "sell",
    "update",
)
"""The operations of the brokerage; each has a metric for its response time."""


class OpenLoop(Model):
    """Submissions at a given rate, whether or not the earlier ones are answered."""

    rate: Decimals
    """Submissions a second."""
    arrivals: Arrivals = "poisson"
    """Distribution of the times between submissions."""
    users: Count = 1_000
    """The most submissions that may be in flight. Further submissions are not made, and are counted
    as not met."""


class ClosedLoop(Model):
    """Users who submit, wait for the answer, think, and submit again."""

    users: Count
    """Number of users."""
    think: Pause = 0
    """Time between an answer and the next submission."""
    thinking: Thinking = "fixed"
    """How the think time varies."""


class Population(Model):
    """Contents of the application's database at the start."""

    users: Count = 15_000
    """Registered users."""
    quotes: Count = 10_000
    """Quoted stocks."""


class Mix(Model):
    """Shares of the operations, together 100 %."""

    standard: WordFlag = False
    """The application's own mix."""
    home: PercentValue | None = None
    """Read the start page."""
    quotes: PercentValue | None = None
    """Ask for prices of stocks."""
    logout: PercentValue | None = None
    """End the session; a login follows."""
    register_: PercentValue | None = Field(default=None, alias="register")
    """Create a user."""
    account: PercentValue | None = None
    """Read the account."""
    portfolio: PercentValue | None = None
    """List the holdings."""
    buy: PercentValue | None = None
    """Buy a stock."""
    sell: PercentValue | None = None
    """Sell a holding."""
    update: PercentValue | None = None
    """Change the account's profile."""

    @property
    def shares(self) -> dict[str, float]:
        """Operation -> the percentage that the study gives for it."""
        given = self.model_dump(by_alias=True, exclude_none=True)
        return {name: share for name, share in given.items() if name != "standard"}

    @model_validator(mode="after")
    def _whole(self) -> Mix:
        total = sum(self.shares.values())
        if not self.standard and not self.shares:
            raise fault("must be standard, or the shares of all operations")
        if self.shares and abs(total - 100) > 1e-9:
            raise fault(f"the shares add up to {total:g} %, not 100 %")
        return self


class OwnOperation(Model):
    """An operation of a program: one request."""

    share: PercentValue
    """Share of the operation; the shares of all operations are together 100 %."""
    get: WordsValue | None = None
    """Path of a GET request."""
    post: WordsValue | None = None
    """Path of a POST request, which sends `body`."""
    body: WordsValue | None = None
    """The body of the request."""
    type: WordsValue | None = None
    """Media type of the body; by default, the type of HTML forms."""

    @model_validator(mode="after")
    def _is_one_request(self) -> OwnOperation:
        if (self.get is None) == (self.post is None):
            raise fault("needs either get or post, with a path")
        if not (self.get or self.post or "").startswith("/"):
            raise fault("must be a path that begins with /", "get" if self.get else "post")
        if self.body is not None and self.post is None:
            raise fault("needs post", "body")
        if self.type is not None and self.body is None:
            raise fault("needs a body", "type")
        return self


def _mix_kind(value: object) -> str:
    is_own = isinstance(value, dict) and any(
        isinstance(one, dict | OwnOperation) for one in value.values()
    )
    return "=operations" if is_own else "=shares"


AnyMix = Annotated[
    Annotated[Mix, Word("standard", "shares such as {home: 20 %, …}"), Tag("=shares")]
    | Annotated[dict[WordsValue, OwnOperation], Tag("=operations")],
    Discriminator(_mix_kind),
]


class Transactions(Spec):
    """Requests to an application with several tiers."""

    words: ClassVar[MetricWords] = MetricWords(
        metrics={
            "response_ms": WorkloadMetric(
                "time of a page element, from when its operation or its own request was due",
                STATISTICS,
                samples="histogram",
            ),
            "response_law_ms": WorkloadMetric(
                "response time that users and throughput imply, of a closed loop"
            ),
            "service_ms": WorkloadMetric(
                "time of a page element, from when its request was sent",
                STATISTICS,
                samples="histogram",
            ),
            "first_byte_ms": WorkloadMetric(
                "time from a request to the first byte of its page element",
                STATISTICS,
                samples="histogram",
            ),
            "transaction_ms": WorkloadMetric(
                "time of a transaction, from when it was due", STATISTICS, samples="histogram"
            ),
            "etr_per_s": WorkloadMetric("external throughput rate: page elements a second"),
            "etr_pct": WorkloadMetric("ETR relative to a base row"),
            "etr_scaling": WorkloadMetric("ETR by that of a base row"),
            "itr_per_s": WorkloadMetric(
                "internal throughput rate: ETR at 100 % of the application's CPU"
            ),
            "itr_pct": WorkloadMetric("ITR relative to a base row"),
            "itr_scaling": WorkloadMetric("ITR by that of a base row"),
            "transactions_per_s": WorkloadMetric("transactions a second"),
            "elements_per_transaction": WorkloadMetric("page elements by transactions"),
            "offered_per_s": WorkloadMetric("submissions that were due, a second"),
            "met_pct": WorkloadMetric("share of submissions that were due and done"),
            "not_met_pct": WorkloadMetric("share of submissions that were due and not begun"),
            "errors": WorkloadMetric("submissions that failed"),
            "network_errors": WorkloadMetric("submissions that failed on their connection"),
            "server_errors": WorkloadMetric("submissions that the application failed at"),
            "read_mb_per_run": WorkloadMetric("bytes that the generators received"),
            "written_mb_per_run": WorkloadMetric("bytes that the generators sent"),
            "element_bytes_mean": WorkloadMetric("bytes received by page elements"),
            "app_cpu_ms_per_transaction": WorkloadMetric(
                "CPU time of the application's host by transactions"
            ),
            "db_cpu_ms_per_transaction": WorkloadMetric(
                "CPU time of the database's host by transactions"
            ),
            "db_cpu_ms_per_element": WorkloadMetric(
                "CPU time of the database's host by page elements"
            ),
            **LOSSES_PER_RUN,
            **{
                f"response_{name}_ms": WorkloadMetric(
                    f"time of the operation {name}, from when it was due",
                    STATISTICS,
                    samples="histogram",
                )
                for name in OPERATIONS
            },
        },
        figures={
            "response": "mean response time of a page element",
            "response_p50": "median response time of a page element",
            "response_p99": "99th percentile of the response time of a page element",
            "response_law": "response time that users and throughput imply",
            "service": "mean service time of a page element",
            "first_byte": "mean time to the first byte of a page element",
            "transaction": "mean time of a transaction",
            "etr": "external throughput rate",
            "etr_relative": "external throughput rate, in percent of a base row",
            "etr_scaling": "external throughput rate by that of a base row",
            "itr": "internal throughput rate",
            "itr_relative": "internal throughput rate, in percent of a base row",
            "itr_scaling": "internal throughput rate by that of a base row",
            "transactions": "transactions a second",
            "elements": "page elements by transactions",
            "offered": "submissions that were due, a second",
            "met": "share of submissions that were due and done",
            "not_met": "share of submissions that were due and not begun",
            "errors": "submissions that failed",
            "network_errors": "submissions that failed on their connection",
            "server_errors": "submissions that the application failed at",
            "read": "bytes that the generators received in a run",
            "written": "bytes that the generators sent in a run",
            "element_bytes": "bytes received by page elements",
            "app_cpu": "CPU time of the application's host by transactions",
            "db_cpu": "CPU time of the database's host by transactions",
            "db_cpu_element": "CPU time of the database's host by page elements",
            "drops_per_run": "dropped packets in a run",
            "retransmissions_per_run": "retransmissions in a run",
            "timeouts_per_run": "timeouts in a run",
        },
    )
    timed: ClassVar[bool] = True
    has_application: ClassVar[bool] = True

    application: Annotated[Application, Word("brokerage", "a program: {start: […], url: URL}")]
    """The brokerage, or a program: `{start: [nginx, …], url: http://app:8080/}`."""
    clients: PlaceValue | None = None
    """The host group that generates load. It may be left out if only one group remains without the
    application's and the database's."""
    server: PlaceValue = Place("app")
    """The host of the application."""
    database: PlaceValue | None = None
    """The host of the application's database; by default, the host group `db`, if there is one."""
    engine: Engine = "postgresql"
    """The brokerage's database: a server on the database's host, or a file on the application's
    host."""
    dsn: WordsValue | None = None
    """An existing PostgreSQL server, used in place of a server that the run starts:
    `postgresql://trade@/trade?host=/run/postgresql`. The server is not on a host of the study. Each
    run fills and empties the database; a database with other tables is refused."""
    password: PasswordPlace | None = None
    """Where to find the password of the role in the DSN; not needed if the server asks for none."""
    variant: Words | None = None
    """The build or release of the application, if the study compares several: one of `variants`, or
    any other name, which means the same program with the usual settings, used in place of a build
    that is not available."""
    variants: dict[WordsValue, BrokerageVariant] = Field(default_factory=dict)
    """Named sets of the brokerage's settings."""
    threads: Count | None = None
    """Threads of the application server; by default one per CPU, and in the simulator the number in
    the model."""
    pool: Count | None = None
    """Connections to the database; by default 16, and in the simulator the number in the model."""
    mix: AnyMix = Mix(standard=True)
    """The operations and their shares. A program has operations of its own, such as
    `{start: {share: 100 %, get: /}}`."""
    open: OpenLoop | None = None
    """Load given by a rate. An open loop shows slow responses; a closed loop hides them, since its
    users submit less while they wait."""
    closed: ClosedLoop | None = None
    """Load given by a number of users."""
    population: Population = Population()
    """Contents of the database."""
    statistics: IntervalValue = 10_000_000_000
    """Time between two blocks of statistics of each generator."""
    model: Words | None = None
    """A profile of the hardware library with the costs of a page element in the simulator; by
    default, the application's profile."""
    costs: Costs = Costs()
    """In the simulator: costs that differ from the profile's."""

    @property
    def starts(self) -> tuple[str, ...]:
        """The command of an application that is a program."""
        return self.application.start

    def clients_of(self, topology: Topology) -> Place:
        """The hosts that generate load. Raises ValueError if it is unclear which hosts these
        are."""
        if self.clients is not None:
            return self.clients
        others = {self.server.group, getattr(self.database_of(topology), "group", None)}
        linked = [
            end.group
            for link in topology.all_links
            for end in link.between
            if self.server.group in {each.group for each in link.between}
            and end.group in topology.groups
            and end.group not in others
        ]
        beside = linked or [name for name in topology.groups if name not in others]
        found = list(dict.fromkeys(beside))
        if len(found) != 1:
            named = ", ".join(found) or "none"
            raise ValueError(f"name the hosts that generate load; candidates: {named}")
        return Place(found[0])

    def database_of(self, topology: Topology) -> Place | None:
        """The host of the database; None: it has no host of its own."""
        if self.engine == "sqlite" or self.dsn is not None:
            return None
        is_there = DATABASE in topology.groups and self.server.group != DATABASE
        return self.database or (Place(DATABASE) if is_there else None)

    @property
    def places(self) -> Mapping[str, Place]:
        """The places that the study gives, and the server, which has a default."""
        named = {"server": self.server, "clients": self.clients, "database": self.database}
        return {key: place for key, place in named.items() if place is not None}

    @property
    def applications(self) -> Mapping[str, str | Ref | None]:
        """The profile with the application's costs."""
        return {"model": self.model}

    @property
    def own_costs(self) -> Collection[str]:
        """The costs under `costs`."""
        return frozenset(self.costs.model_fields_set)

    def problems(self, study: Surroundings, path: Path) -> Iterator[Problem]:
        """Places that do not exist, and settings of the brokerage for a program."""
        found = list(super().problems(study, path))
        yield from found
        if not found:
            yield from self._place_problems(study, path)
            yield from () if study.was_carried_out else self._ignored(study, path)
        yield from self._user_problems(study, path)
        if self.dsn is not None:
            yield from self._hosts_of_an_existing_database(study)
        problem = study.document.problem
        if not self.application.brokerage:
            of_brokerage = {"engine", "variant", "variants", "pool", "threads", "population"}
            of_brokerage |= {"dsn", "password"}
            for key in sorted(of_brokerage & self.model_fields_set):
                yield problem((*path, key), "is a setting of the brokerage, not of a program")
            yield from self._url_problems(study, path)
        if isinstance(self.mix, dict) == self.application.brokerage:
            if not self.application.brokerage and "mix" not in self.model_fields_set:
                return
            wanted = (
                "must be standard or shares of the brokerage's operations"
                if self.application.brokerage
                else "must have the operations of the program, each with a share and a path"
            )
            yield problem((*path, "mix"), wanted)

    def _place_problems(self, study: Surroundings, path: Path) -> Iterator[Problem]:
        try:
            self.clients_of(study.topology)
        except ValueError as error:
            yield study.document.problem((*path, "clients"), str(error))
        for key in ("server", "database"):
            place = self.server if key == "server" else self.database_of(study.topology)
            if place is None:
                continue
            where = (*study.topology.host_path(place.group), "count")
            for at, count in study.levels_at(where, study.topology.groups[place.group].count):
                if count != 1:
                    message = f"must be 1: this host is the {key} of the transactions"
                    yield study.document.problem(at, message)

    def _user_problems(self, study: Surroundings, path: Path) -> Iterator[Problem]:
        """More simultaneous users than the brokerage has registered: each registered user has only
        one session."""
        registered = self.population.users
        if not self.application.brokerage or isinstance(registered, Ref):
            return
        for key, load in (("open", self.open), ("closed", self.closed)):
            users = None if load is None else load.users
            for at, level in study.levels_at((*path, key, "users"), users):
                if isinstance(level, int) and level > registered:
                    message = f"{level:,} users need at least as many registered users, but "
                    known = f"population.users is {registered:,}"
                    yield study.document.problem(at, f"{message}{known}")

    def _ignored(self, study: Surroundings, path: Path) -> Iterator[Problem]:
        """Settings of the database's host or data that would have no effect."""
        problem, engines = study.document.problem, self._engines(study, path)
        is_server = [at for at, engine in engines if engine == "postgresql"]
        if self.database is not None and not is_server:
            message = (
                "is the host of a database server, but SQLite is a file of the application; leave "
                "database out"
            )
            yield problem((*path, "database"), message)
        for at, engine in engines if self.dsn is not None else ():
            if engine == "sqlite":
                yield problem(at, "is a file, but dsn names a server; keep one of them")
        with_data = self._hosts_of_data(study, {engine for _, engine in engines})
        for name, host in study.topology.groups.items() if self.dsn is None else ():
            if host.data is not None and name not in with_data:
                where = (*study.topology.host_path(name), "data")
                on = " or ".join(sorted(with_data))
                yield problem(where, f"is only for the host with the database's tables, {on}")

    def _engines(self, study: Surroundings, path: Path) -> list[tuple[Path, Level]]:
        """The databases (`engine`) at all levels, each with its place in the file."""
        return list(study.levels_at((*path, "engine"), self.engine))

    def _hosts_of_data(self, study: Surroundings, engines: Iterable[Level]) -> set[str]:
        """The hosts with the tables of the run's own database."""
        places = (
            self.model_copy(update={"engine": engine}).database_of(study.topology)
            for engine in engines
        )
        return {(place or self.server).group for place in places}

    def _hosts_of_an_existing_database(self, study: Surroundings) -> Iterator[Problem]:
        """Settings of a database's host although `dsn` gives an existing database elsewhere."""
        problem, groups = study.document.problem, study.topology.groups
        if DATABASE in groups and self.server.group != DATABASE:
            message = "dsn names a database outside of the study; leave this host out"
            yield problem(study.topology.host_path(DATABASE), message)
        server = groups.get(self.server.group)
        if server is not None and server.data is not None:
            where = (*study.topology.host_path(self.server.group), "data")
            yield problem(
                where, "has no effect, because dsn names a server that keeps its own data"
            )

    def _url_problems(self, study: Surroundings, path: Path) -> Iterator[Problem]:
        for key in ("url", "ready"):
            text = getattr(self.application, key)
            host = None if text is None else http_url(text).hostname
            if host not in (None, self.server.group, "localhost"):
                message = f"names the host {host}, but the program runs on {self.server.group}"
                yield study.document.problem((*path, "application", key), message)

    @property
    def loads(self) -> tuple[object, ...]:
        """The number of users of a closed loop, or the rate of an open loop."""
        if self.closed is not None:
            return (self.closed.users,)
        return () if self.open is None else (self.open.rate,)

    @model_validator(mode="after")
    def _one_database(self) -> Transactions:
        if self.dsn is None:
            if self.password is not None:
                raise fault("is for an existing server; name the server by dsn", "password")
            return self
        try:
            postgresql_dsn(self.dsn)
        except ValueError as error:
            raise fault(str(error), "dsn") from None
        if self.engine == "sqlite":
            raise fault("names a server, but SQLite is a file; keep one of them", "dsn")
        if self.database is not None:
            raise fault(
                "is for a server of the run's own, but dsn names an existing server; keep one",
                "database",
            )
        return self

    @model_validator(mode="after")
    def _one_load(self) -> Transactions:
        if (self.open is None) == (self.closed is None):
            wrong = "keep only one of" if self.open is not None else "needs one of"
            raise fault(f"{wrong}: open (a rate), closed (a number of users)")
        if isinstance(self.mix, dict):
            total = sum(one.share for one in self.mix.values())
            if abs(total - 100) > 1e-9:
                raise fault(f"the shares add up to {total:g} %, not 100 %", "mix")
        return self
