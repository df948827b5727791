"""Causes that are easily missed: told where records have them planted, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from netstudy.analysis.signals import LongWaits, least_rto_ms
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.analysis.workloads.incast import COMPLETION
from netstudy.report.answer import answer
from netstudy.report.prose.explain import cause_summary, chain
from netstudy.report.prose.observe import ranges
from netstudy.report.prose.signals import sent_again
from netstudy.wire import Run, RunRecord
from tests.analysis.counted import counting, quiet, wire_ms
from tests.report import workloads
from tests.report.caveats import caveat_sentences
from tests.report.planted import named, numbers
from tests.report.results import from_text, results, study_text
from tests.report.synthetic import from_samples, record, server_count

SWITCHES = """
factors: {switch: [arista-7124s, nexus-5010], servers: [2, 4, 6, 8]}
replicates: 5
compare: {factor: switch, base: nexus-5010, noise: 2 %}
"""
CONFORMANCE = Path(__file__).parents[2] / "studies" / "conformance"


def waiting(planned: Run, *, again: int, **counted: int) -> RunRecord:
    """One iteration in thirty takes 205 ms longer, without a timeout."""
    n = planned.count("measure")
    late = np.arange(n) % 30 == 7
    zeros = np.zeros(n, dtype=int)
    rng = np.random.default_rng(int(planned.seed, 16))
    times = wire_ms(planned) * (1 + 0.01 * rng.random(n)) + 205.0 * late
    return counting(from_samples(planned, times, late, again * late, zeros), **counted)


def made_of(folder: Path, maker: Callable[[Run], RunRecord]) -> StudyResult:
    return analyse(
        from_text(folder, study_text(SWITCHES, switch='"${switch}"', servers='"${servers}"'), maker)
    )


def is_nexus(planned: Run) -> bool:
    return planned.treatment["switch"] == "nexus-5010"


def why(result: StudyResult) -> list[str]:
    found = [str(one).replace("\u00a0", " ") for one in cause_summary(result.cases[0].panels[0])]
    assert len(found) <= 2
    return found


def holding(result: StudyResult) -> set[tuple[str, str]]:
    """The links that hold in some scope."""
    links = result.cases[0].panels[0].causes.links
    return {(link.cause.title, link.effect.title) for link in links if link.holds}


def test_ring_drops_are_told_apart_from_the_drops_of_the_switch(tmp_path: Path) -> None:
    def maker(planned: Run) -> RunRecord:
        made = waiting(planned, again=1) if is_nexus(planned) else quiet(planned)
        lost = 90 * server_count(planned) if is_nexus(planned) else 0
        return counting(made, ring_drops=lost)

    result = made_of(tmp_path, maker)
    assert "Full receive rings of hosts drop packets: 450 a run on nexus-5010" in why(result)[0]
    assert "% of all lost packets)" in why(result)[0]
    rises = [
        one for one in result.cases[0].panels[0].causes.chain if one.cause.title == "Ring drops"
    ]
    assert [one.effect.title for one in rises] == ["TCP retransmissions"]


def test_the_answer_tells_of_the_setting_in_which_losses_are_the_hosts(tmp_path: Path) -> None:
    """On one of the switches: the other one loses as much at either size, and the hosts nothing."""
    blocks = SWITCHES.replace("servers: [2,", "block: [1 MB, 2 MB], servers: [2,")
    text = study_text(blocks, switch='"${switch}"', servers='"${servers}"', block='"${block}"')

    def maker(planned: Run) -> RunRecord:
        made = record(planned)
        at_hosts = is_nexus(planned) and planned.treatment["block"] == "2 MB"
        _, in_switch = made.ports["switch"]["client"]["frames_dropped"]
        return counting(made, ring_drops=3 * (in_switch or 0) if at_hosts else 0)

    result = analyse(from_text(tmp_path, text, maker))
    first, second, *_ = answer(result).further
    assert named([first], ["1 MB", "2 MB"]) == ["1 MB"]
    assert named([second], ["2 MB", "1 MB", "nexus-5010"]) == ["2 MB", "nexus-5010", "1 MB"]
    assert [one.value for one in numbers([second])] == [75, 0]


def test_an_rto_like_wait_is_explained_by_the_tail_loss_probes_that_were_sent(
    tmp_path: Path,
) -> None:
    result = made_of(tmp_path, lambda planned: waiting(planned, again=1, loss_probes=3))
    (cell, *_) = result.cases[0].panels[0].causes.long_waits
    assert (cell.waiting, cell.samples, cell.retransmitting) == (15, 450, 15)
    told = " ".join(why(result))
    assert "60 of 1,800 iterations at 2 to 8 servers on arista-7124s wait about one" in told
    assert "minimum RTO (200 ms) without a timeout: a tail loss probe waits that long" in told
    assert not [one for one in map(str, caveat_sentences(result)) if "minimum RTO" in one]


@pytest.mark.parametrize(
    ("again", "known"),
    [(0, "nothing is sent again in them either"), (1, "segments are sent again in 60 of them")],
)
def test_an_rto_like_wait_that_nothing_explains_is_a_caveat(
    tmp_path: Path, again: int, known: str
) -> None:
    result = made_of(tmp_path, lambda planned: waiting(planned, again=again))
    told = [str(one).replace("\u00a0", " ") for one in caveat_sentences(result)]
    (one, other) = [text for text in told if "about one minimum RTO (200 ms)" in text]
    assert known in one
    assert "on nexus-5010" in other
    assert not why(result)


@pytest.mark.parametrize(
    ("again", "told"),
    [
        ((1,), "segments are sent again"),
        ((1, 0), "segments are sent again in 1 of these cells"),
        ((0, 0), "nothing is sent again either"),
    ],
)
def test_a_percentile_that_waits_is_of_cells(again: tuple[int, ...], told: str) -> None:
    waits = [
        LongWaits(
            x=None,
            level=None,
            min_rto_ms=200.0,
            p99_ms=210.0,
            samples=None,
            waiting=0,
            retransmitting=one,
            probes=None,
            setup=None,
        )
        for one in again
    ]
    assert str(sent_again(waits)) == told


@pytest.mark.parametrize(("has_gap", "cells"), [(True, 3), (False, 0)])
def test_only_requests_that_stand_apart_wait_for_something(
    tmp_path: Path, *, has_gap: bool, cells: int
) -> None:
    """Behind a queue that grows some requests take as long, and there is no gap before them."""

    def maker(planned: Run) -> RunRecord:
        made = workloads.record(planned)
        share = np.arange(2000) / 2000
        waits = 210 * (share >= 0.95) if has_gap else 210 * share**4
        times = ((1 + waits) * 1e6).astype(np.int64)
        samples = made.samples.model_copy(update={"request": (workloads.histogram(times),)})
        return made.model_copy(update={"samples": samples})

    result = analyse(results(tmp_path, CONFORMANCE / "request-star.yaml", maker=maker))
    waits = [one for panel in result.cases[0].panels for one in panel.causes.long_waits]
    assert len(waits) == cells
    told = [one for one in map(str, caveat_sentences(result)) if "above the median" in one]
    assert bool(told) == has_gap


def test_a_wait_with_a_timeout_is_the_timeouts_own(tmp_path: Path) -> None:
    def maker(planned: Run) -> RunRecord:
        made = waiting(planned, again=1)
        rows = made.samples.iteration
        assert rows is not None
        late = rows.model_copy(update={"timeouts": rows.retransmissions})
        samples = made.samples.model_copy(update={"iteration": late})
        return made.model_copy(update={"samples": samples})

    result = made_of(tmp_path, maker)
    assert result.cases[0].panels[0].causes.long_waits == ()
    assert "with a timeout takes" in why(result)[0]


def test_a_tail_without_a_gap_is_no_wait(tmp_path: Path) -> None:
    def maker(planned: Run) -> RunRecord:
        n = planned.count("measure")
        times = wire_ms(planned) + 220 * np.linspace(0, 1, n) ** 4
        zeros = np.zeros(n, dtype=int)
        return from_samples(planned, times, zeros, zeros, zeros)

    assert made_of(tmp_path, maker).cases[0].panels[0].causes.long_waits == ()


def test_marks_stand_beside_drops_and_prevent_them_where_levels_show_it(tmp_path: Path) -> None:
    def maker(planned: Run) -> RunRecord:
        n, load = planned.count("measure"), server_count(planned)
        zeros = np.zeros(n, dtype=int)
        drops = zeros if is_nexus(planned) else zeros + 10 * load
        times = wire_ms(planned) * np.ones(n) + 0.1 * drops
        made = from_samples(planned, times, drops, drops, zeros)
        marked = 400 * load if is_nexus(planned) else 4 * planned.replicate
        return counting(made, frames_marked=marked, frames_forwarded=10_000)

    result = made_of(tmp_path, maker)
    told = " ".join(why(result))
    assert "Of all frames, switches marked 0.1 % and dropped 31.0 % on arista-7124s" in told
    assert "; they marked 20.0 % and dropped 0 % on nexus-5010." in told
    assert "losses hardly do" not in told, "one of the two loses a lot"


def test_marks_alone_slow_senders_down(tmp_path: Path) -> None:
    result = made_of(
        tmp_path, lambda planned: quiet(planned, frames_marked=500, frames_forwarded=10_000)
    )
    assert "ECN marks slow the senders down, losses hardly do" in why(result)[0]


def test_pause_stands_beside_the_drops_that_it_leaves(tmp_path: Path) -> None:
    def maker(planned: Run) -> RunRecord:
        return quiet(planned, pauses_sent=70 * server_count(planned) * is_nexus(planned))

    told = " ".join(why(made_of(tmp_path, maker)))
    assert "PAUSE frames and dropped packets a run: 0 and 0 on arista-7124s" in told
    assert "350 and 0 on nexus-5010" in told


def waiting_as_set(planned: Run) -> RunRecord:
    """Every fourth iteration waits for one minimum RTO of its senders."""
    n = planned.count("measure")
    late = np.arange(n) % 4 == 0
    times = 10.0 + 0.01 * (np.arange(n) % 7) + late * (least_rto_ms(planned) or 0.0)
    return from_samples(planned, times, late.astype(int), late.astype(int), late.astype(int))


@pytest.mark.parametrize(
    ("levels", "text"),
    [
        ("[8 ms, 200 ms]", "takes 8.0 ms to 200 ms longer than one without, in 4 cells whose"),
        ("[200 ms]", "takes 200 ms longer than one without (median of 2 cells); "),
    ],
    ids=["different", "the same"],
)
def test_no_middle_is_told_of_what_timeouts_cost_under_different_minimum_rtos(
    tmp_path: Path, levels: str, text: str
) -> None:
    factors = f"factors: {{rto: {levels}, servers: [2, 4]}}\nreplicates: 5\n"
    study = study_text(factors, servers='"${servers}"').replace(
        'count: "${servers}"', 'count: "${servers}", tcp: {min_rto: "${rto}"}'
    )
    result = analyse(from_text(tmp_path, study, waiting_as_set))
    sentences = [str(one) for case in result.cases for panel in case.panels for one in chain(panel)]
    (told,) = [one for one in sentences if "longer than one without" in one]
    assert text in told.replace("\u00a0", " ")


def told_of_probes(result: StudyResult) -> str:
    """The sentence on tail loss probes in the chain of causes."""
    (found,) = [one for one in map(str, chain(result.cases[0].panels[0])) if "loss probes" in one]
    return found.replace("\u00a0", " ")


def test_probes_that_repaired_losses_are_counted(tmp_path: Path) -> None:
    result = made_of(
        tmp_path, lambda planned: quiet(planned, loss_probes=4, loss_probe_recoveries=3)
    )
    told = told_of_probes(result)
    assert "60 of 80 on arista-7124s and 60 of 80 on nexus-5010" in told
    assert "neither switches nor receive rings dropped anything there" in told


def test_repairs_by_probes_of_the_warm_up_are_not_more_than_there_were_probes(
    tmp_path: Path,
) -> None:
    result = made_of(
        tmp_path, lambda planned: quiet(planned, loss_probes=1, loss_probe_recoveries=2)
    )
    assert "40 on arista-7124s and 40 on nexus-5010" in told_of_probes(result)


def test_probes_where_packets_were_lost_are_not_said_to_be_needless(tmp_path: Path) -> None:
    result = made_of(
        tmp_path,
        lambda planned: quiet(
            planned, loss_probes=4, loss_probe_recoveries=3, ring_drops=3, pauses_sent=0
        ),
    )
    assert "only late" not in told_of_probes(result)


def test_names_along_x_are_told_apart_where_nothing_is_compared(tmp_path: Path) -> None:
    text = study_text("factors: {switch: [arista-7124s, nexus-5010]}\n", switch='"${switch}"')
    result = analyse(
        from_text(tmp_path, text, lambda one: quiet(one, ring_drops=90 * is_nexus(one)))
    )
    assert "Full receive rings of hosts drop packets: 90 a run with nexus-5010" in why(result)[0]


def test_what_does_not_occur_has_no_link_and_no_sentence(tmp_path: Path) -> None:
    result = made_of(tmp_path, quiet)
    panel = result.cases[0].panels[0]
    assert [step.cause.title for step in panel.causes.chain] == [
        "Dropped packets",
        "Dropped packets",
        "TCP retransmissions",
        "TCP timeouts",
    ]
    told = " ".join(map(str, chain(panel)))
    assert not [word for word in ("ring", "PAUSE", "mark", "probe") if word in told]


def test_ranges_have_their_ends_and_say_none(tmp_path: Path) -> None:
    panel = made_of(tmp_path, quiet).cases[0].panels[0]
    first, *others = ranges(panel)
    assert str(first).count("2 to 8") == 1
    ends = [cell.value(COMPLETION) for cell in panel.panel.cells.values()]
    assert {one.value for one in numbers([first])} <= set(ends)
    assert {str(one).partition(": ")[2] for one in others} >= {"none."}
