"""The `workload` of a study: incast, bulk transfer, or transactions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from netstudy import wire
from netstudy.documents.fields import (
    Choice,
    Count,
    Count0,
    Decimals,
    Duration,
    NameValue,
    PercentValue,
    Ref,
    Size,
    Switched,
    Typed,
    Words,
)
from netstudy.documents.shapes import Word
from netstudy.documents.validation import Model, fault
from netstudy.knobs import knobs
from netstudy.study.topology import Delay

Request = Annotated[int | Ref, Typed(knobs(wire.Incast)["request"].scalar)]
"""bytes."""
Protocol = Annotated[str | Ref, Typed(Choice(("ftp", "tcp"), "a protocol"))]
Source = Annotated[
    str | Ref, Typed(Choice(("ram", "cache", "disk"), "a place that data come from"))
]
Sink = Annotated[str | Ref, Typed(Choice(("ram", "disk", "null"), "a place that data go to"))]
DataPath = Annotated[str | Ref, Typed(Choice(("copying", "sendfile"), "a data path"))]
Arrivals = Annotated[str | Ref, Typed(Choice(("poisson", "uniform"), "a process of arrivals"))]
Application = Annotated[str | Ref, Typed(Choice(("brokerage",), "an application"))]


class Jitter(Model):
    """A random delay, drawn anew: `{exponential: 75 us}`, `{uniform: 20 us}` or `none`."""

    exponential: Delay | None = None
    """Mean of an exponential distribution."""
    uniform: Delay | None = None
    """The largest delay; all from 0 on are equally likely."""
    none: Annotated[bool, Field(exclude=True)] = False
    """No delay."""

    @model_validator(mode="after")
    def _one_kind(self) -> Jitter:
        kinds = [self.exponential is not None, self.uniform is not None, self.none]
        if sum(kinds) != 1:
            raise fault("is one of {exponential: 75 us}, {uniform: 20 us} and none")
        return self


class Incast(Model):
    """One client asks all servers at once for a block, waits for all of it, and repeats."""

    client: NameValue = "client"
    """The host group that asks."""
    servers: NameValue = "server"
    """The host group that answers."""
    block: Size
    """Not striped: what each server sends. Striped: what all servers send together."""
    striped: Switched = False
    """Whether the block is divided over the servers."""
    iterations: Count
    """Iterations that are measured."""
    warmup: Count0 = 0
    """Iterations before those, which no instrument counts: windows carry over, so 10 at least."""
    request: Request = 64
    """Size of the request to a server."""
    spacing: Delay = 0
    """Time between the request to one server and the request to the next."""
    jitter: Annotated[Jitter, Word("none", "a map such as {exponential: 75 us}")] = Jitter(
        none=True
    )
    """Delay between a server's receipt of a request and its first byte."""


class Transfer(Model):
    """Bulk transfers of one file."""

    protocol: Protocol
    """How the file is fetched."""
    size: Size
    """Size of the file."""
    from_: Source = Field(default="ram", alias="from")
    """Where the server has it: RAM disk, page cache, or disk."""
    to: Sink = "ram"
    """What the client does with it: keep it in RAM, write it to disk, discard it."""
    data_path: DataPath | None = Field(default=None, alias="data path")
    """Whether the server copies the data through user space."""
    clients: Count = 1
    """Clients that fetch at the same time."""
    repeat: Duration | None = None
    """How long clients go on fetching; without it each fetches once."""
    placement: Words | None = None
    """The name of a placement in the topology."""


class OpenLoop(Model):
    """Submissions at a given rate, whether or not the earlier ones are answered."""

    rate: Decimals
    """Submissions a second."""
    arrivals: Arrivals = "poisson"
    """How they are spread."""


class ClosedLoop(Model):
    """Users who submit, wait for the answer, think, and submit again."""

    users: Count
    """How many of them."""
    think: Duration = 0
    """Time between an answer and the next submission."""


class Population(Model):
    """What the application's database holds at the start."""

    users: Count = 15_000
    """Registered users."""
    quotes: Count = 10_000
    """Stocks that are quoted."""


class Mix(Model):
    """Shares of the operations; together 100 %."""

    standard: Annotated[bool, Field(exclude=True)] = False
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
        """Percentage of each operation that is given."""
        given = self.model_dump(by_alias=True, exclude_none=True)
        return {name: share for name, share in given.items() if name != "standard"}

    @model_validator(mode="after")
    def _whole(self) -> Mix:
        total = sum(self.shares.values())
        if self.standard == bool(self.shares):
            raise fault("is standard, or the shares of all operations")
        if self.shares and abs(total - 100) > 1e-9:
            raise fault(f"the shares add up to {total:g} %, not 100 %")
        return self


class Transactions(Model):
    """Requests to an application with several tiers."""

    application: Application
    """Which application."""
    variant: Words | None = None
    """A build or release of it, where that is what is studied."""
    mix: Annotated[Mix, Word("standard", "shares such as {home: 20 %, …}")] = Mix(standard=True)
    """Which operations, how often."""
    open: OpenLoop | None = None
    """Load by a rate. A closed loop hides slowness, an open one shows it."""
    closed: ClosedLoop | None = None
    """Load by a number of users."""
    population: Population = Population()
    """What the database holds."""

    @model_validator(mode="after")
    def _one_load(self) -> Transactions:
        if (self.open is None) == (self.closed is None):
            raise fault("needs either open (a rate) or closed (a number of users)")
        return self


class Workload(Model):
    """What the hosts do: exactly one of the kinds."""

    incast: Incast | None = None
    """Synchronized reads."""
    transfer: Transfer | None = None
    """Bulk transfers."""
    transactions: Transactions | None = None
    """Requests to an application."""

    @model_validator(mode="after")
    def _one_kind(self) -> Workload:
        kinds = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none"
            raise fault(f"needs exactly one of incast, transfer and transactions; it has {found}")
        return self

    @property
    def kind(self) -> str:
        """The name of the kind."""
        return next(n for n in type(self).model_fields if getattr(self, n) is not None)
