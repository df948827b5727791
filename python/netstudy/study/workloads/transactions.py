"""Transactions: requests to an application with several tiers."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from netstudy.documents.fields import (
    Choice,
    Count,
    Decimals,
    Duration,
    PercentValue,
    Ref,
    Typed,
    Words,
)
from netstudy.documents.shapes import Word
from netstudy.documents.validation import Model, fault
from netstudy.study.workloads.base import STATISTICS, MetricWords, Spec, WorkloadMetric

Arrivals = Annotated[str | Ref, Typed(Choice(("poisson", "uniform"), "a process of arrivals"))]
Application = Annotated[str | Ref, Typed(Choice(("brokerage",), "an application"))]


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


class Transactions(Spec):
    """Requests to an application with several tiers."""

    words: ClassVar[MetricWords] = MetricWords(
        metrics={
            "response_ms": WorkloadMetric("time from a submission to its answer", STATISTICS),
            "etr_per_s": WorkloadMetric("external throughput rate: page elements a second"),
            "itr_per_s": WorkloadMetric(
                "internal throughput rate: ETR at 100 % of the application's CPU"
            ),
            "etr_pct": WorkloadMetric("ETR relative to a base row"),
            "itr_pct": WorkloadMetric("ITR relative to a base row"),
            "errors": WorkloadMetric("requests that failed"),
        },
        figures={
            "response": "mean response time",
            "etr": "external throughput rate",
            "itr": "internal throughput rate",
            "etr_relative": "external throughput rate, in percent of a base row",
            "itr_relative": "internal throughput rate, in percent of a base row",
            "errors": "requests that failed",
        },
    )
    timed: ClassVar[bool] = True
    has_application: ClassVar[bool] = True

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
