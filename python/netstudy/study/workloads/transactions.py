"""Transactions: requests to an application with several tiers."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

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
from netstudy.study.workloads.base import (
    LOSSES_PER_RUN,
    STATISTICS,
    MetricWords,
    Spec,
    WorkloadMetric,
)

Arrivals = Annotated[str | Ref, Typed(Choice(("poisson", "uniform"), "a process of arrivals"))]
Application = Annotated[str | Ref, Typed(Choice(("brokerage",), "an application"))]

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
"""The operations of the brokerage, of which response times have names."""


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
