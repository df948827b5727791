"""A node of another clock has the measuring phase by its own."""

from __future__ import annotations

from netstudy.analysis.clocks import inside, window_of
from netstudy.analysis.samples import RunSample, Sampled
from netstudy.wire import RecordNode, RunRecord, Series
from tests.report.synthetic import nodes, record, run

PLANNED = run({"servers": 2}, iterations=3)
WHOLE = record(PLANNED)


def with_far_server(read_at_ns: tuple[int, ...] | None) -> RunRecord:
    """The first server lives on a machine of its own."""
    far = RecordNode(kind="host", group="server", clock="other", read_at_ns=read_at_ns)
    return WHOLE.model_copy(update={"nodes": {**nodes(PLANNED), "server-1": far}})


def test_a_node_of_another_clock_has_the_phase_by_its_own() -> None:
    phase = WHOLE.measure
    assert phase is not None
    shared = window_of(RunSample(PLANNED, WHOLE), "server-2")
    assert shared is not None
    assert (shared.start_ns, shared.end_ns) == (phase.start_ns, phase.end_ns)
    own = window_of(RunSample(PLANNED, with_far_server((7_000, 9_000))), "server-1")
    assert own is not None
    assert (own.clock, own.start_ns, own.end_ns) == ("other", 7_000, 9_000)
    assert window_of(RunSample(PLANNED, with_far_server(None)), "server-1") is None


def test_samples_are_placed_in_the_phase_of_their_own_clock() -> None:
    series = Sampled.of(
        Series(
            node="server-1",
            instrument="host",
            at_ns=(6_999, 7_000, 8_000, 9_001),
            values={"load": (1, 2, 3, 4)},
        )
    )
    found = inside(RunSample(PLANNED, with_far_server((7_000, 9_000))), series, "load")
    assert found is not None
    assert [list(column) for column in found] == [[0, 1e-6], [2, 3]]
    assert inside(RunSample(PLANNED, with_far_server(None)), series, "load") is None
    assert inside(RunSample(PLANNED, with_far_server((7_000, 9_000))), series, "rest") is None
