"""Lists everything that is gathered from records while they are read for the first time.

A table of cells does not keep its records (`gathering`). Whatever the usual report and the exports
need of them is listed here, so that they read each record once. An analysis that is not listed
reads the records again: it is slower, and gives the same results.
"""

from __future__ import annotations

from collections.abc import Hashable

from netstudy.analysis import causes
from netstudy.analysis.accounts import accounts_part
from netstudy.analysis.bounds.clocks import share_demands
from netstudy.analysis.bounds.resources import Listing
from netstudy.analysis.bounds.windows import rates_part
from netstudy.analysis.cells import CellRow, Measures, samples_part
from netstudy.analysis.gathering import Demands, Part
from netstudy.analysis.last_connections import last_part
from netstudy.analysis.machines import cpus_part, files_part, machines_part, simulated_part
from netstudy.analysis.metrics import Metric
from netstudy.analysis.nodes import node_metric
from netstudy.analysis.panel_distributions import humps_demands
from netstudy.analysis.samples import dropped_at_ports
from netstudy.analysis.signals import settle_waits, waiting_part
from netstudy.analysis.standing_queues import queues_part
from netstudy.analysis.workloads import signals
from netstudy.analysis.workloads.base import lengths_part
from netstudy.analysis.workloads.probe import PROBE_DEMANDS
from netstudy.study.vocabulary import MetricName, Scope
from netstudy.wire import Run


def demands_of(measures: Measures, run: Run) -> Demands:
    """The parts to gather from the runs of a cell; `run` is one of these runs."""
    workload = measures.workload
    found: dict[Hashable, Part] = {
        "samples": samples_part(workload.counted),
        "accounts": accounts_part,
        "last": last_part,
        "simulated": simulated_part,
        "machines": machines_part,
        "cpus": cpus_part,
        "files": files_part,
        "rates": rates_part,
        "queues": queues_part,
        "lengths": lengths_part(workload),
        **share_demands(),
        **causes.demands_of(workload),
        **workload.demands,
        **PROBE_DEMANDS,
    }
    found |= map(signals.totals_of, (dropped_at_ports, *signals.COUNTS))
    if workload.waiting_samples is not None:
        found["waiting"] = waiting_part(workload)
    for metric in (*measures.metrics, *_of_nodes(measures, run)):
        found |= metric.reading.demands()
        if metric.sampled is not None:
            found |= humps_demands(metric.sampled)
    return found


def settle(row: CellRow, measures: Measures) -> None:
    """Computes the results of a cell whose parts are not needed for anything else, and drops these
    parts: a study has a hundred metrics of nodes, but shows single runs of few."""
    settle_waits(row, measures.workload)
    causes.timeout_cost_ms(row, measures.workload)
    of_nodes = _of_nodes(measures, row.planned[0])
    for metric in (*measures.metrics, *of_nodes):
        row.estimate(metric)
    for metric in of_nodes:
        row.runs.forget(metric.reading.demands())


def _of_nodes(measures: Measures, run: Run) -> tuple[Metric, ...]:
    """The metrics of nodes, and the metrics that show which of them is the bottleneck: these are of
    single hosts too."""
    if not run.network.nodes:
        return measures.of_nodes
    listing = Listing(run, measures.workload, grown_group=None, is_simulated=True)
    read = (name for one in listing.all() for _, names in one.reads for name in names)
    drops = (MetricName(Scope(switch.name), "port_drops") for switch in run.network.switches)
    of_hosts = {node_metric(name) for name in (*read, *drops) if name.scope is not None}
    return tuple(dict.fromkeys((*measures.of_nodes, *of_hosts)))
