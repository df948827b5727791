"""The most that a replacement gains: which limits it makes faster, and the time that they take."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from netstudy.analysis.bounds.candidates import Key
from netstudy.analysis.bounds.time_parts import Piece
from netstudy.analysis.ceilings import ceiling
from netstudy.analysis.conclusions.substitution import Replaced, Substituted
from netstudy.analysis.speedups import Speedup, speedup
from netstudy.analysis.study_result import analyse
from netstudy.plan import make_plan
from netstudy.study.loader import load_text
from netstudy.wire import Run
from tests.report.accounts import Shares, Spot
from tests.report.loaded import STUDY, Load, record
from tests.report.results import from_text

BASE = """\
study: changed
question: What differs?
factors: {flows: [1, 2]}
topology:
  hosts:
    server:
      profile: host-10g
      cpu: {cpus: 2, send_per_byte: 4 ns/B}
      disk: {rate: 1 Gbit/s, access_time: 4 ms}
      tcp: {min_rto: 200 ms}
    client: {profile: host-10g, tcp: {receive_buffer: 6 MiB}}
  switch: generic-deep
  links:
    - {between: [server, switch], rate: 1 Gbit/s, delay: 4 ms}
    - {between: [client, switch], rate: 1 Gbit/s}
workload: {transfer: {direction: get, flows: "${flows}"}}
procedure: {measure: 2 s}
"""
LINK: Key = ("link", "server", "switch")
BACK: Key = ("link", "switch", "server")
OTHER_LINK: Key = ("link", "switch", "client")
CPU: Key = ("cpu", "server", "")
DISK: Key = ("disk", "server", "disk")
WINDOW: Key = ("window", "client", "")
TRIP: Key = ("round_trip", "", "")
TIMERS: Key = ("timeouts", "", "")


def changed(tmp_path: Path, *changes: tuple[str, str]) -> Speedup | None:
    text = BASE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    before, after = (
        make_plan(load_text(one, tmp_path / "study.yaml")).plan.runs[0] for one in (BASE, text)
    )
    return speedup(before, after)


@pytest.mark.parametrize(
    ("change", "faster"),
    [
        (("rate: 1 Gbit/s, delay", "rate: 3 Gbit/s, delay"), {LINK: 3, BACK: 3}),
        (("rate: 1 Gbit/s, delay", "rate: {up: 500 Mbit/s, down: 1 Gbit/s}, delay"), None),
        (("cpus: 2", "cpus: 4, speed: 150 %"), {CPU: 3}),
        (("send_per_byte: 4", "send_per_byte: 1"), {CPU: 4}),
        (("rate: 1 Gbit/s, access_time: 4 ms", "rate: 2 Gbit/s, access_time: 1 ms"), {DISK: 8}),
        (("delay: 4 ms", "delay: 1 ms"), {TRIP: 4, WINDOW: 4}),
        (("receive_buffer: 6 MiB", "receive_buffer: 12 MiB"), {WINDOW: 2}),
        (("min_rto: 200 ms", "min_rto: 20 ms"), {TIMERS: 10}),
        (("cpus: 2", "cpus: 1"), {CPU: 0.5}),
        (("direction: get", "direction: put"), None),
        (("min_rto: 200 ms", "congestion_control: reno"), None),
    ],
)
def test_the_limits_that_a_change_makes_faster(
    change: tuple[str, str], faster: dict[Key, float] | None, tmp_path: Path
) -> None:
    """Of a change in anything else, the effect on the time is not known."""
    found = changed(tmp_path, change)
    assert (found is None) == (faster is None)
    every = {LINK, BACK, OTHER_LINK, CPU, DISK, WINDOW, TRIP, TIMERS}
    factors = {} if found is None else {key: found(key) for key in every if found(key) != 1}
    assert factors == pytest.approx(faster or {})


def times(factors: dict[Key, float]) -> Speedup:
    return lambda key: factors.get(key, 1.0)


def test_a_part_saves_no_more_than_its_share() -> None:
    """0.2 of the time at ten times the speed saves 0.18; 0.3 at half the speed adds 0.3."""
    pieces = [Piece(LINK, None, 20), Piece(CPU, None, 30), Piece(TRIP, None, 50)]
    assert ceiling(pieces, times({LINK: 10})) == pytest.approx(1 / 0.82)
    assert ceiling(pieces, times({LINK: 10, CPU: 0.5})) == pytest.approx(1 / 1.12)
    assert ceiling(pieces, times({})) == 1
    assert ceiling([Piece(CPU, None, 100)], times({CPU: math.inf})) == math.inf


def test_a_larger_window_shortens_all_that_passes_until_it_has_room() -> None:
    """Propagation halves, and bytes on a twice as fast link take a quarter. With other numbers of
    segments no acknowledgment may be delayed."""
    pieces = [
        Piece(WINDOW, WINDOW, 40),
        Piece(LINK, WINDOW, 20),
        Piece(("delayed_ack", "client", ""), WINDOW, 10),
        Piece(TRIP, None, 30),
    ]
    left = 0.4 / 2 + 0.2 / 4 + 0.3
    assert ceiling(pieces, times({WINDOW: 2, LINK: 2})) == pytest.approx(1 / left)


def test_what_is_faster_may_lose_nothing() -> None:
    """Of 5 % on the link and 80 % of timers, a twice as fast link may leave 17.5 %."""
    recovery: Key = ("congestion_window", "", "recovery")
    pieces = [Piece(LINK, None, 5), Piece(TIMERS, None, 50), Piece(recovery, None, 30)]
    pieces.append(Piece(TRIP, None, 15))
    assert ceiling(pieces, times({LINK: 2})) == pytest.approx(1 / 0.175)
    assert ceiling(pieces, times({TIMERS: 10})) == pytest.approx(1 / 0.55)
    assert ceiling(pieces, times({LINK: 0.5})) == pytest.approx(1 / 1.05)


# ---- beside the measured gain

FASTER = (
    STUDY.replace('{name: "null", request: 64 B}', "{name: slow, rate: 1 Gbit/s}")
    .replace("{name: disk, request: 65 B}", "{name: fast, rate: 10 Gbit/s}")
    .replace("rate: 1 Gbit/s}\n", 'rate: "${sink.rate}"}\n')
    .replace('request: "${sink.request}"', "direction: get")
    .replace("{profile: host-1g", "{profile: host-10g")
)
ON_LINK: Spot = ("own", "serialization", "server", "switch")
ON_CPU: Spot = ("own", "cpu", "server", "")
NOT_KNOWN: Spot = ("own", "not-known", "", "")


def replaced(tmp_path: Path, cause: Shares, cpu: float = 0.3) -> Replaced:
    def of(run: Run) -> Load:
        busy = cpu + 0.001 * run.replicate
        gain = 1.05 if run.treatment["sink"] == "fast" else 1.0
        return Load(100.0 * gain * (1 + 0.0001 * run.replicate), server_cpu=busy, cause=cause)

    text = FASTER.replace("CLIENTS", "[1]") + "conclude: [{substitution: sink, base: slow}]\n"
    result = analyse(from_text(tmp_path, text, maker=lambda run: record(run, of(run))))
    (found,) = result.concluded
    assert isinstance(found.drawn, Substituted)
    (one,) = found.drawn.replaced
    return one


def test_a_substitution_has_the_ceiling_of_the_part_that_it_replaces(tmp_path: Path) -> None:
    """A tenth of the time at ten times the rate: 1 / (1 - 0.09) = 1.0989."""
    one = replaced(tmp_path, {ON_LINK: 0.1, ON_CPU: 0.9})
    assert [gain for _, gain in one.ceilings] == [pytest.approx(100 * (1 / 0.91 - 1))]


def test_a_ceiling_ends_at_the_next_bound(tmp_path: Path) -> None:
    """Half of the time on the link would allow 82 % more, but the CPUs are busy for 80.2 %, or at
    least for 80.2 - 4.303 x 0.1 / sqrt(3)."""
    one = replaced(tmp_path, {ON_LINK: 0.5, ON_CPU: 0.5}, cpu=0.8)
    least = 80.2 - 4.303 * 0.1 / 3**0.5
    assert [gain for _, gain in one.ceilings] == [pytest.approx(100 * (100 / least - 1), rel=1e-3)]


def test_bounds_of_an_account_are_no_ceiling(tmp_path: Path) -> None:
    assert replaced(tmp_path, {ON_LINK: (0.1, 0.4), NOT_KNOWN: (0.6, 0.9)}).ceilings == ()
