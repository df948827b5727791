"""The samples of one run as arrays, and every metric as numerators and denominators.

A metric that is a ratio of sums (a mean an iteration, a goodput, a share) is written as two arrays,
one entry an iteration. The sums may then be taken over a run, over a batch of iterations or over
all replicates of a cell with the same code, and never as a mean of ratios.

An index of fairness is no such ratio: it is one value a run, and runs count the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netstudy.analysis.metrics import Metric
from netstudy.wire import ConnectionSamples, RunRecord

Floats = NDArray[np.float64]
Terms = tuple[Floats, Floats]

NS_PER_MS = 1e6
NS_PER_S = 1e9
BITS_PER_MEGABIT = 1e6

SWITCH = "switch"
"""Node of the switch in a record's counters; its ports are `switch.` and the name of a node."""
DROP_COUNTER = "frames_dropped"

QUANTILES: dict[str, float] = {"completion_ms_p50": 0.50, "completion_ms_p99": 0.99}


@dataclass(frozen=True, eq=False)
class RunSample:
    """The measuring phase of one run, one entry an iteration; None where no instrument counted."""

    run: str
    replicate: int
    completion_ns: Floats
    dropped_packets: Floats | None
    dropped_in_all: int | None
    """Of all iterations together; known also where a testbed does not tell them apart."""
    retransmissions: Floats | None
    timeouts: Floats | None
    bytes_received: int | None
    connection_goodputs: Floats | None
    """Bytes a nanosecond of each connection while it was waited for."""

    @property
    def iterations(self) -> int:
        """Number of iterations measured."""
        return int(self.completion_ns.size)


def sample_of(record: RunRecord) -> RunSample | None:
    """The samples of a record; None when it holds no iterations."""
    if record.iterations is None or not record.iterations.completion_ns:
        return None
    it = record.iterations
    return RunSample(
        run=record.run,
        replicate=record.replicate,
        completion_ns=np.asarray(it.completion_ns, dtype=np.float64),
        dropped_packets=_counts(it.dropped_packets),
        dropped_in_all=dropped_in_all(record),
        retransmissions=_counts(it.retransmissions),
        timeouts=_counts(it.timeouts),
        bytes_received=record.bytes_received,
        connection_goodputs=_goodputs(record.connections),
    )


def _counts(values: tuple[int, ...] | None) -> Floats | None:
    return np.asarray(values, dtype=np.float64) if values else None


def dropped_in_all(record: RunRecord) -> int | None:
    """Frames that the switch dropped over the measuring phase.

    From the iterations, else from the counters of the switch's ports. None when a port did not
    count, or there is none: missing is not zero.
    """
    iterations = record.iterations
    if iterations is not None and iterations.dropped_packets is not None:
        return sum(iterations.dropped_packets) if iterations.dropped_packets else None
    ports = [
        counters
        for node, counters in record.counters.items()
        if node == SWITCH or node.startswith(f"{SWITCH}.")
    ]
    if not ports or not all(DROP_COUNTER in port for port in ports):
        return None
    return sum(port[DROP_COUNTER] for port in ports)


def _goodputs(connections: ConnectionSamples | None) -> Floats | None:
    """None where nothing was counted, or where a connection was never waited for."""
    if connections is None or not all(connections.receiving_ns):
        return None
    received = np.asarray(connections.bytes_received, dtype=np.float64)
    return received / np.asarray(connections.receiving_ns, dtype=np.float64)


def jain_index(shares: Floats) -> float | None:
    """Equality of shares: 1 where all are equal, 1/n where one has all; None without any.

    Jain, Chiu and Hawe, A quantitative measure of fairness, DEC-TR-301, 1984.
    """
    squares = float(shares @ shares) * shares.size
    return float(shares.sum()) ** 2 / squares if squares > 0 else None


def terms(metric: Metric, sample: RunSample) -> Terms | None:
    """Numerators and denominators of a metric; None when it was not measured.

    Those of a ratio of sums have an entry an iteration, those of a value a run have one, as has
    a ratio of which only the sums are known.
    """
    if metric.name == "fairness_index":
        return _fairness(sample)
    if metric.name == "drops_per_iteration" and sample.dropped_packets is None:
        return _drops_in_all(sample)
    numerator = _numerator(metric.name, sample)
    if numerator is None:
        return None
    if metric.name == "goodput_mbps":
        return numerator, sample.completion_ns / NS_PER_S
    return numerator, np.ones(sample.iterations)


def _numerator(name: str, sample: RunSample) -> Floats | None:
    match name:
        case "completion_ms_mean":
            return sample.completion_ns / NS_PER_MS
        case "goodput_mbps":
            return _megabits(sample)
        case "drops_per_iteration":
            return sample.dropped_packets
        case "retransmissions_per_iteration":
            return sample.retransmissions
        case "timeouts_per_iteration":
            return sample.timeouts
        case "timeout_iterations_pct":
            return None if sample.timeouts is None else np.where(sample.timeouts > 0, 100.0, 0.0)
    raise KeyError(f"{name} is not a ratio of sums")


def _fairness(sample: RunSample) -> Terms | None:
    goodputs = sample.connection_goodputs
    index = None if goodputs is None else jain_index(goodputs)
    return None if index is None else (np.array([index]), np.ones(1))


def _drops_in_all(sample: RunSample) -> Terms | None:
    """One entry: nothing is said of the iterations, so nothing of their spread either."""
    if sample.dropped_in_all is None:
        return None
    return np.array([float(sample.dropped_in_all)]), np.array([float(sample.iterations)])


def _megabits(sample: RunSample) -> Floats | None:
    """Every iteration carries the same bytes, so the total is spread evenly over them."""
    if sample.bytes_received is None:
        return None
    each = sample.bytes_received * 8 / BITS_PER_MEGABIT / sample.iterations
    return np.full(sample.iterations, each)
