"""Converts transactions to the wire: see netstudy.study.workloads.transactions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from netstudy import wire
from netstudy.documents.fields import Ref
from netstudy.documents.problems import Path, dotted
from netstudy.hardware import HardwareLibrary
from netstudy.knobs import knobs
from netstudy.plan.paths import Routes
from netstudy.plan.workloads.base import Context, Counts, Load, Lowering, Permit, Roles
from netstudy.study import Study, level_text
from netstudy.study.dsn import postgresql_dsn
from netstudy.study.references import concrete
from netstudy.study.topology import Topology
from netstudy.study.workloads.transactions import (
    BrokerageVariant,
    OwnOperation,
    Transactions,
    http_url,
)
from netstudy.units import DURATION, format_in

MODEL: Final = "brokerage"
"""Profile of the brokerage's costs if a study names none."""
STANDARD: Final[Mapping[str, int]] = {
    "home": 20,
    "quotes": 40,
    "logout": 4,
    "register": 2,
    "account": 10,
    "portfolio": 12,
    "buy": 4,
    "sell": 4,
    "update": 4,
}
"""The standard mix of the brokerage in percent (TradeConfig.scenarioMixes of DayTrader)."""
ELEMENTS: Final[Mapping[str, int]] = {
    "logout": 2,
    "register": 3,
    "buy": 2,
    "sell": 2,
    "update": 2,
}
"""Number of pages of an operation, if it is more than one: a logout is followed by a login, a
registration is between a logout and the home page; buying, selling and updating begin with the page
that offers it (crates/workload/src/transactions/script.rs)."""
_FORM: Final = "application/x-www-form-urlencoded"
_PS_PER_S: Final = 1_000_000_000_000
_RATE_MIN_PER_S: Final = 1e-6
"""One submission in 11 days: the wire cannot hold the interval of a lower rate."""
_PPM: Final = 1_000_000
_STATISTICS_BYTES: Final = 90
"""Size of a block of statistics in a record."""
_HISTOGRAM_BYTES: Final = 2_000 * 18
"""Size of a histogram over a few orders of magnitude."""


class TransactionsLowering(Lowering[Transactions, wire.Transactions]):
    """Operations of users. The unit is a page element."""

    spec = Transactions
    wired = wire.Transactions
    unit = "page elements"

    def not_simulated(self, spec: Transactions, study: Study, path: Path) -> Iterator[str]:  # noqa: ARG002
        """A program without a model of its costs, and a zone whose host has no simulated CPUs."""
        if spec.model is None and not spec.application.brokerage:
            yield "The simulator needs the program's costs: name a profile with model."
        yield from _without_cpus(spec, study)

    def stated(self, spec: Transactions, study: Study) -> Iterator[str]:
        """Parts that the simulator replaces by costs: disks, the database's rows, a program and its
        requests."""
        for name, host in study.topology.groups.items():
            if host.disk is not None:
                yield f"disk of host {name}"
        for key in sorted(spec.population.model_fields_set):
            yield f"{key} of the population"
        if spec.dsn is not None:
            yield "dsn of transactions"
        yield from _unknown_variants(spec, study)
        if not spec.application.brokerage:
            yield from _stated_of_a_program(spec)

    def roles(self, spec: Transactions, topology: Topology, path: Path) -> Roles:
        """The load generators, the application's host, and the database's host."""
        return Roles(
            client=spec.clients_of(topology),
            server=spec.server,
            client_path=(*path, "clients"),
            server_path=(*path, "server"),
            database=spec.database_of(topology),
            database_path=(*path, "database"),
        )

    def working(self, roles: Roles) -> frozenset[str]:
        """The hosts of application and database."""
        both = (roles.server, roles.database)
        return frozenset(place.group for place in both if place is not None)

    def lower(self, spec: Transactions, roles: wire.Roles, context: Context) -> wire.Transactions:
        """Converts the workload. Refuses a rate of submissions that is too low or too high."""
        tiers = (
            roles
            if isinstance(roles, wire.TierRoles)
            else wire.TierRoles(client=roles.client, server=roles.server)
        )
        variant = _variant(spec)
        return wire.Transactions(
            roles=tiers,
            application=_application(spec, variant, context.topology),
            mix=tuple(_mix(spec, variant)),
            load=_load(spec, context),
            statistics_every_ns=spec.statistics,
            costs=_costs(spec, variant, context),
        )

    def counts(self, spec: Transactions) -> Counts:  # noqa: ARG002
        """No counts: phases end after a duration."""
        return Counts(None, None)

    def connections(self, work: wire.Transactions) -> int:
        """A connection for each user, since all may be active at once (even in an open loop), and
        the connections to the database."""
        pool = work.costs.pool_connections if work.costs and work.roles.database else 0
        return work.load.users + pool

    def think(self, work: wire.Transactions) -> tuple[str, int] | None:
        """Users of a closed loop think between two submissions."""
        load = work.load
        return ("closed.think", load.think_ns) if isinstance(load, wire.ClosedLoad) else None

    def permit_key(self, kind: Permit) -> str:
        """Threads and pool are the application's; slots are a cost of its database."""
        return "costs.database_slots" if kind == "database_slots" else kind

    def permits(
        self, work: wire.Transactions, node: str, *, is_simulated: bool
    ) -> Mapping[Permit, int]:
        """In the simulator, the costs of a page element have the numbers. On other testbeds, the
        brokerage has a pool of connections, and threads if the plan says how many."""
        serves = _is_one_of(work.roles.server, node)
        found: dict[Permit, int | None] = {}
        if is_simulated and work.costs is not None:
            if serves:
                found["threads"] = work.costs.threads
            if serves and work.roles.database:
                found["pool"] = work.costs.pool_connections
            if _is_one_of(work.roles.database or work.roles.server, node):
                found["database_slots"] = work.costs.database_slots
        elif not is_simulated and serves and isinstance(work.application, wire.Brokerage):
            found["threads"] = work.application.threads
            found["pool"] = work.application.pool_connections
        return {kind: count for kind, count in found.items() if count is not None}

    def registered_users(self, work: wire.Transactions) -> int:
        """Users of the brokerage; each takes memory in the load generators."""
        return work.application.users if isinstance(work.application, wire.Brokerage) else 0

    def loads(self, work: wire.Transactions) -> Iterator[Load]:
        """A page element and its requests to the database."""
        if (costs := work.costs) is None:
            return
        client, server = next(work.connected)
        yield Load(client, server, costs.request_bytes)
        yield Load(server, client, costs.response_bytes)
        host = server.partition("@")[0]
        for database in work.roles.database if costs.database_calls else ():
            calls = costs.database_calls
            yield Load(host, database, costs.database_request_bytes, calls)
            yield Load(database, host, costs.database_response_bytes, calls)

    def waiting_ns(self, work: wire.Transactions, routes: Routes) -> float:
        """Mean time between two page elements of all users together. In an open loop, it follows
        from the rate. In a closed loop, it is the larger of two times: the time of the busiest CPU,
        and the time of a single user divided by the number of users."""
        elements = elements_of(work.mix)
        if isinstance(work.load, wire.OpenLoad):
            return work.load.interval_ps / 1_000 / elements
        costs = work.costs
        if costs is None:
            return 0.0
        busiest = max(_cpu_ns(work, costs, routes.network), default=0.0)
        alone = costs.app_cpu_ns + costs.database_cpu_ns + costs.database_hold_ns + costs.delay_ns
        return max(busiest, (alone + work.load.think_ns / elements) / work.load.users)

    def sample_bytes(self, work: wire.Transactions, count: float, seconds: float) -> float:
        """Blocks of statistics, and histograms of each operation, for each generator."""
        blocks = seconds * 1e9 / work.statistics_every_ns
        histograms = min(2 * (len(work.mix) + 2), count) * _HISTOGRAM_BYTES
        return len(work.roles.client) * (blocks * _STATISTICS_BYTES + histograms)

    def starts(self, work: wire.Transactions) -> tuple[str, ...]:
        """The command of an application that is a program."""
        return work.application.start if isinstance(work.application, wire.Program) else ()

    def details(self, runs: Sequence[wire.Run]) -> Iterator[tuple[str, str]]:
        """The profile of the simulator's costs, and the interval of statistics."""
        works = [run.workload for run in runs if isinstance(run.workload, wire.Transactions)]
        models = dict.fromkeys(work.costs.profile for work in works if work.costs is not None)
        if models:
            yield "model", f"costs of a page element: {', '.join(models)} (for the simulator)"
        every = dict.fromkeys(format_in(DURATION, work.statistics_every_ns) for work in works)
        if every:
            yield "writes", f"statistics of each generator every {', '.join(every)}"


def _without_cpus(spec: Transactions, study: Study) -> Iterator[str]:
    """Tiers in zones whose host has no simulated CPUs. A host that is itself a tier always has
    some."""
    tiers = {"server": spec.server, "database": spec.database_of(study.topology)}
    whole = {place.group for place in tiers.values() if place is not None and place.zone is None}
    for name, place in tiers.items():
        if place is None or place.zone is None or place.group in whole:
            continue
        if not _cpus_are_known(study, place.group):
            at = dotted((*study.topology.host_path(place.group), "cpus"))
            yield (
                f"The {name} is {place}, a zone of a host whose number of CPUs is not known; the "
                f"simulator needs {at}."
            )


def _unknown_variants(spec: Transactions, study: Study) -> Iterator[str]:
    """Names of variants that are used but not declared; such a variant has the default settings."""
    path = ("workload", study.workload.kind, "variant")
    for _, level in study.levels_at(path, spec.variant) if spec.variants else ():
        if (name := level_text(level)) not in spec.variants:
            yield f"variant {name}, which is not one of {', '.join(spec.variants)},"


def _stated_of_a_program(spec: Transactions) -> Iterator[str]:
    """Keys of the program and of its requests, which the simulator ignores: it takes all costs from
    the model."""
    yield from (f"{key} of the application" for key in sorted(spec.application.model_fields_set))
    for name, own in spec.mix.items() if isinstance(spec.mix, dict) else ():
        for key in sorted(own.model_fields_set - {"share"}):
            yield f"{key} of the operation {name}"


def _cpus_are_known(study: Study, group: str) -> bool:
    """Whether the number of a host's CPUs is known, from the study or from every profile that the
    host may have."""
    host = study.topology.groups[group]
    if host.cpus is not None or host.cpu is not None:
        return True
    library = HardwareLibrary.default(study.folder)
    at = (*study.topology.host_path(group), "profile")
    profiles = [library.host(level_text(name)) for _, name in study.levels_at(at, host.profile)]
    return all(one.cpu is not None or one.figures.cpus is not None for one in profiles)


def elements_of(mix: Sequence[wire.Operation]) -> float:
    """Average number of page elements of an operation."""
    return sum(one.share_ppm * one.elements_ppm for one in mix) / _PPM**2


def _cpu_ns(work: wire.Transactions, costs: wire.Costs, network: wire.Network) -> Iterator[float]:
    """CPU time of a page element at each tier, divided by the number of the tier's CPUs."""

    def cpus(name: str) -> int:
        node = network.node(name.partition("@")[0])
        cpu = network.group(node.group).cpu if isinstance(node, wire.Host) else None
        return 1 if cpu is None else cpu.cpus

    for server in work.roles.server:
        growth = 1 + costs.app_cpu_growth_ppm / _PPM * (cpus(server) - 1)
        yield costs.app_cpu_ns * growth / cpus(server)
    for database in work.roles.database:
        yield (costs.database_cpu_ns + costs.database_disk_cpu_ns) / cpus(database)


def _variant(spec: Transactions) -> BrokerageVariant:
    """The settings of the variant; an undeclared variant has the default ones."""
    named = concrete(spec.variant)
    return spec.variants.get(named, BrokerageVariant()) if named is not None else BrokerageVariant()


def _application(
    spec: Transactions, variant: BrokerageVariant, topology: Topology
) -> wire.Brokerage | wire.Program:
    if not spec.application.brokerage:
        assert spec.application.url is not None, "the study was checked"
        url = http_url(spec.application.url)
        ready = http_url(spec.application.ready or spec.application.url)
        return wire.Program(
            start=spec.application.start, port=url.port or 80, ready_path=_path_of(ready)
        )
    threads = concrete(variant.threads) or concrete(spec.threads)
    medium = _medium(spec, topology)
    given: dict[str, Any] = {"pool_connections": concrete(variant.pool) or concrete(spec.pool)}
    given["data"] = medium
    return wire.Brokerage(
        variant=concrete(spec.variant),
        threads=threads,
        page_images=concrete(variant.images),
        database=_word(spec.engine),
        users=concrete(spec.population.users),
        quotes=concrete(spec.population.quotes),
        existing=_existing(spec),
        **{key: value for key, value in given.items() if value is not None},
    )


def _existing(spec: Transactions) -> wire.ExistingDatabase | None:
    if spec.dsn is None:
        return None
    dsn, place = postgresql_dsn(spec.dsn), spec.password
    return wire.ExistingDatabase(
        host=dsn.host,
        port=dsn.port,
        user=dsn.user,
        database=dsn.database,
        password=None if place is None else wire.PasswordSource(env=place.env, pgpass=place.pgpass),
    )


def _path_of(url: Any) -> str:
    return (url.path or "/") + (f"?{url.query}" if url.query else "")


def _mix(spec: Transactions, variant: BrokerageVariant) -> Iterator[wire.Operation]:
    if isinstance(spec.mix, dict):
        for name, own in spec.mix.items():
            yield _own_operation(name, own)
        return
    if not spec.application.brokerage:
        assert spec.application.url is not None, "the study was checked"
        path = _path_of(http_url(spec.application.url))
        request = wire.HttpRequest(path=path)
        yield wire.Operation(name="get", share_ppm=_PPM, elements_ppm=_PPM, requests=(request,))
        return
    shares = STANDARD if spec.mix.standard else spec.mix.shares
    elements = 1 + concrete(variant.images)
    for name, ppm in _in_millionths(shares).items():
        pages = ELEMENTS.get(name, 1)
        yield wire.Operation(name=name, share_ppm=ppm, elements_ppm=pages * elements * _PPM)


def _own_operation(name: str, own: OwnOperation) -> wire.Operation:
    is_post = own.post is not None
    request = wire.HttpRequest(
        method="POST" if is_post else "GET",
        path=own.post or own.get or "/",
        body=own.body,
        content_type=None if own.body is None else own.type or _FORM,
    )
    share = round(own.share * _PPM / 100)
    return wire.Operation(name=name, share_ppm=share, elements_ppm=_PPM, requests=(request,))


def _in_millionths(shares: Mapping[str, float]) -> dict[str, int]:
    """Converts shares in percent to millionths that add up to a million: the largest share takes
    the rounding error."""
    found = {name: round(share * _PPM / 100) for name, share in shares.items()}
    largest = max(found, key=lambda name: found[name])
    found[largest] += _PPM - sum(found.values())
    return found


def _load(spec: Transactions, context: Context) -> wire.ClosedLoad | wire.OpenLoad:
    if spec.closed is not None:
        return wire.ClosedLoad(
            users=concrete(spec.closed.users),
            think_ns=concrete(spec.closed.think),
            think=_word(spec.closed.thinking),
        )
    assert spec.open is not None, "the study was checked"
    rate = concrete(spec.open.rate)
    if not _RATE_MIN_PER_S <= rate <= _PS_PER_S:
        message = f"is a number of submissions a second, at least {_RATE_MIN_PER_S:.6f}"
        context.refuse((*context.path, "open", "rate"), message)
    return wire.OpenLoad(
        interval_ps=round(_PS_PER_S / rate),
        arrivals=_word(spec.open.arrivals),
        users=concrete(spec.open.users),
    )


def _is_one_of(role: Sequence[str], node: str) -> bool:
    return node in (member.partition("@")[0] for member in role)


def _word(value: str | Ref) -> Any:
    """A word of a closed list. The type is Any because the wire checks the word again."""
    return concrete(value)


def _costs(spec: Transactions, variant: BrokerageVariant, context: Context) -> wire.Costs | None:
    """The costs in the profile, overridden by the costs in the study; None: the costs are not
    known."""
    named = concrete(spec.model) or (MODEL if spec.application.brokerage else None)
    if named is None:
        return None
    values = _profile_costs(context.hardware, named)
    own = {knob.wired: getattr(spec.costs, name, None) for name, knob in knobs(wire.Costs).items()}
    values |= {name: value for name, value in own.items() if value is not None}
    threads = concrete(variant.threads) or concrete(spec.threads)
    pool = concrete(variant.pool) or concrete(spec.pool)
    if threads is not None:
        values["threads"] = threads
    if pool is not None:
        values["pool_connections"] = pool
    if _medium(spec, context.topology) == "ram":
        values |= {"database_disk_ns": 0, "database_disk_cpu_ns": 0}
    return wire.Costs(profile=named, **values)


def _profile_costs(hardware: HardwareLibrary, name: str) -> dict[str, Any]:
    figures = hardware.application(name).figures
    given = {knob.wired: getattr(figures, key) for key, knob in knobs(wire.Costs).items()}
    return {wired: figure.value for wired, figure in given.items() if figure is not None}


def _medium(spec: Transactions, topology: Topology) -> str | None:
    """Where the database keeps its tables; None: the study does not say."""
    place = spec.database_of(topology) or spec.server
    return concrete(topology.groups[place.group].data)
