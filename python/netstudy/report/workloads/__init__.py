"""The workloads that the report can describe, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netstudy.report.workloads.base import WorkloadPage
from netstudy.report.workloads.incast import INCAST
from netstudy.report.workloads.measured import MEASURED
from netstudy.report.workloads.request import REQUESTS
from netstudy.report.workloads.transactions import TRANSACTIONS
from netstudy.report.workloads.transfer import TRANSFERS

if TYPE_CHECKING:
    from netstudy.analysis.workloads import WorkloadAnalysis

PAGES: Final[dict[str, WorkloadPage]] = {
    "incast": INCAST,
    "transfer": TRANSFERS,
    "request": REQUESTS,
    "transactions": TRANSACTIONS,
    "measured": MEASURED,
}
"""Kind of workload -> its text and its picture."""


def page_of(workload: WorkloadAnalysis) -> WorkloadPage:
    """The text and the picture of a workload."""
    return PAGES[workload.kind]
