"""The drawings at the head of a report: the test bed, and the work that its hosts do."""

from __future__ import annotations

from collections.abc import Sequence

from netstudy.report.drawings import test_bed, test_bed_alt
from netstudy.report.figures import Figure
from netstudy.report.refs import Name, say
from netstudy.report.workloads.base import WorkloadPage
from netstudy.wire import Run


def bed_figure(runs: Sequence[Run]) -> Figure | None:
    """A drawing of the test bed; None if the network is not known."""
    if not any(run.network.nodes for run in runs):
        return None
    return Figure("testbed", test_bed_alt(runs), say("The test bed."), test_bed(runs))


def workload_figure(page: WorkloadPage, runs: Sequence[Run]) -> Figure | None:
    """A drawing of the work that the hosts do; None if the workload has none."""
    if page.illustration is None:
        return None
    drawn = page.illustration
    caption = say("{text}", text=Name(drawn.caption))
    return Figure("workload", drawn.alt(runs), caption, drawn.svg(runs))
