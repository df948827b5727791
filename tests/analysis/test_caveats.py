"""What a study asks and cannot test: found in the plan, or in the records that lack it."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.caveats import Caveat, Planned, foreseen
from netstudy.analysis.caveats.few_repetitions import FewRepetitions
from netstudy.analysis.caveats.marking import NeverMarks, NobodyListens, NothingMarks
from netstudy.analysis.caveats.never_filled import CannotFill
from netstudy.analysis.caveats.not_sampled import NotSampled, TooSeldom
from netstudy.analysis.caveats.same_levels import SameLevels
from netstudy.analysis.study_result import analyse
from netstudy.analysis.workloads import workload_of
from netstudy.plan import make_plan
from netstudy.report.caveats import caveat_sentence
from netstudy.study import load
from netstudy.wire import Run, RunRecord
from tests.analysis.counted import counting, quiet
from tests.report.results import from_text

STUDY = """
study: asked
question: What does it do?
factors: {{{factor}, servers: [2, 4]}}
topology:
  switch: {{profile: generic-shallow{switch}}}
  client: {{profile: host-10g, tcp: {{{client}}}}}
  server: {{profile: host-10g, count: "${{servers}}", tcp: {{{server}}}}}
  link: {{rate: 10 Gbit/s, delay: 5 us, mtu: 1500}}
workload:
  incast: {{block: {block}, iterations: 60}}
replicates: 5
"""
DCTCP = "congestion_control: dctcp"


def text_of(
    factor: str = "other: [x]",
    switch: str = "",
    client: str = "",
    server: str = "",
    block: str = "20 kB",
) -> str:
    return STUDY.format(factor=factor, switch=switch, client=client, server=server, block=block)


def planned(folder: Path, text: str) -> tuple[Caveat, ...]:
    path = folder / "study.yaml"
    path.write_text(text)
    study = load(path)
    plan = make_plan(study, seed=1).plan
    return foreseen(Planned(study, plan, workload_of(plan)))


def told(found: Caveat) -> str:
    return str(caveat_sentence(found)).replace("\u00a0", " ")


def test_dctcp_of_one_side_needs_a_switch_that_marks_too(tmp_path: Path) -> None:
    (found,) = planned(tmp_path, text_of(server=DCTCP))
    assert found == NothingMarks((), ("server",), dctcp=True)
    assert not planned(tmp_path, text_of(client=DCTCP)), "the client sends nothing but requests"


def test_dctcp_needs_a_switch_that_marks(tmp_path: Path) -> None:
    (found,) = planned(tmp_path, text_of(client=DCTCP, server=DCTCP))
    assert found == NothingMarks((), ("server",), dctcp=True)
    assert "DCTCP on server cannot be tested: no switch on the path marks." in told(found)
    assert not planned(
        tmp_path, text_of(client=DCTCP, server=DCTCP, switch=", ecn_threshold: 90 kB")
    )


def test_a_switch_off_the_path_does_not_help(tmp_path: Path) -> None:
    text = text_of(client=DCTCP, server=DCTCP)
    text = text.replace("  switch: {profile: generic-shallow}\n", "").replace(
        "  link: {rate: 10 Gbit/s, delay: 5 us, mtu: 1500}\n",
        """\
  switches:
    near: {profile: generic-shallow}
    aside: {profile: generic-shallow, ecn_threshold: 90 kB}
  links:
    - {between: [client, near], rate: 10 Gbit/s}
    - {between: [server, near], rate: 10 Gbit/s}
    - {between: [near, aside], rate: 10 Gbit/s}
""",
    )
    (found,) = planned(tmp_path, text)
    assert isinstance(found, NothingMarks)
    assert not planned(tmp_path, text.replace("[client, near]", "[client, aside]"))


def test_ecn_without_its_control_level_is_no_question(tmp_path: Path) -> None:
    """A factor with and without marks is a fair comparison."""
    mark = "threshold: [{name: low, at: 30 kB}, {name: high, at: 100 MB}]"
    found = planned(
        tmp_path,
        text_of(mark, client=DCTCP, server=DCTCP, switch=', ecn_threshold: "${threshold.at}"'),
    )
    assert not found


def test_a_switch_that_is_told_to_mark_needs_senders_with_ecn(tmp_path: Path) -> None:
    (found,) = planned(tmp_path, text_of(switch=", ecn_threshold: 90 kB", server="ecn: true"))
    assert found == NobodyListens((), ("switch",))
    assert "no connection has ECN at both ends, so nothing is marked: set tcp.ecn: true" in told(
        found
    )
    by_profile = text_of().replace("generic-shallow", "generic-shared")
    assert not planned(tmp_path, by_profile), "its profile marks for whoever listens"


@pytest.mark.parametrize(
    ("profile", "longest"),
    [
        # One port's buffer; the reserve and two thirds of the pool; 24 ingress buffers.
        ("profile: generic-shallow, port_buffer: 512 kB", 512_000),
        (
            "profile: generic-shared, pool: 900 kB, port_reserve: 20 kB, alpha: 2, cell: 1 B",
            620_000,
        ),
        ("profile: nexus-5010, ports: 24, ingress_buffer: 50 kB", 1_200_000),
    ],
    ids=["output-queued", "shared memory", "ingress-queued"],
)
def test_a_threshold_that_no_queue_exceeds_marks_nothing(
    tmp_path: Path, profile: str, longest: int
) -> None:
    def found(threshold_bytes: int) -> tuple[Caveat, ...]:
        text = text_of(client=DCTCP, server=DCTCP, switch=f", ecn_threshold: {threshold_bytes} B")
        return planned(tmp_path, text.replace("profile: generic-shallow", profile))

    (one,) = found(longest)
    assert one == NeverMarks((), ("switch",))
    assert "switch can mark nothing: no queue there can become longer" in told(one)
    assert not found(longest - 1)


def test_levels_that_set_the_same_values_are_named(tmp_path: Path) -> None:
    who = "who: [{name: a, rto: 200 ms}, {name: b, rto: 0.2 s}, {name: c, rto: 10 ms}]"
    (found,) = planned(tmp_path, text_of(who, server='min_rto: "${rto}"'))
    assert found == SameLevels("who", ("a", "b"))
    assert told(found).startswith("who a and who b set the same values")


def test_levels_that_are_never_beside_each_other_are_not_said_to_be_equal(tmp_path: Path) -> None:
    who = "rto: [200 ms, 100 ms, 10 ms], delayed: [40 ms, 20 ms]"
    text = text_of(who, server='min_rto: "${rto}", delayed_ack: "${delayed}"')
    holes = "holes: [{rto: 10 ms, delayed: 40 ms}, {rto: 200 ms, delayed: 20 ms}]\n"
    assert not planned(tmp_path, text + holes)


def test_a_buffer_that_all_senders_together_cannot_fill(tmp_path: Path) -> None:
    """Four servers of 20 kB have at most 83,867 bytes of frames at once: 80,000 x 1518 / 1448."""
    sizes = "buffer: [64 kB, 1 MB, 2 MB]"
    text = text_of(sizes, switch=', port_buffer: "${buffer}"')
    (found,) = planned(tmp_path, text)
    assert isinstance(found, CannotFill)
    assert [one.level for one in found.depths] == ["1 MB", "2 MB"]
    assert {one.most_bytes for one in found.depths} == {80_000 * 1518 // 1448}
    assert "buffer 1 MB (83.9 kB of 1 MB at most)" in told(found)
    assert not planned(tmp_path, text.replace("20 kB", "2 MB"))


def told_of(folder: Path, text: str, **counted: int) -> list[str]:
    def maker(one: Run) -> RunRecord:
        return counting(quiet(one), **counted)

    return [told(one) for one in analyse(from_text(folder, text, maker)).caveats]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            text_of("min_rto: [1 ms, 200 ms]", server='min_rto: "${min_rto}"'),
            "No retransmission timed out in any run, so min_rto was not tested",
        ),
        (
            text_of("rack: [true, false]", server='rack: "${rack}"'),
            "No packet was lost in any run, so rack was not tested",
        ),
        (
            text_of("control: [reno, cubic]", server='congestion_control: "${control}"'),
            "so control was hardly tested: reno and cubic differ mainly in their response to",
        ),
        (
            text_of(client=DCTCP, server=DCTCP, switch=", ecn_threshold: 90 kB"),
            "switch marked nothing in any run, so DCTCP was not tested",
        ),
        (
            text_of(switch=", pause_high: 90 kB, honours_pause: true"),
            "switch sent no PAUSE in any run, so PAUSE was not tested",
        ),
    ],
)
def test_what_never_happened_was_not_tested(tmp_path: Path, text: str, said: str) -> None:
    (found,) = told_of(tmp_path, text)
    assert said in found


def test_a_buffer_that_never_filled_is_told_with_its_longest_queue(tmp_path: Path) -> None:
    text = text_of("buffer: [256 kB, 1 MB]", switch=', port_buffer: "${buffer}"', block="2 MB")
    (found,) = told_of(tmp_path, text, queue_bytes_max=120_400)
    assert "never filled at buffer 256 kB (120 kB of 256 kB at most) and buffer 1 MB" in found


def test_pauses_and_marks_that_happened_are_no_caveat(tmp_path: Path) -> None:
    pausing = text_of(switch=", pause_high: 90 kB, honours_pause: true")
    assert not told_of(tmp_path, pausing, pauses_sent=3)
    marking = text_of(client=DCTCP, server=DCTCP, switch=", ecn_threshold: 90 kB")
    (tmp_path / "b").mkdir()
    assert not told_of(tmp_path / "b", marking, frames_marked=3, frames_forwarded=9)


@pytest.mark.parametrize(
    ("figure", "instruments", "missing"),
    [
        ("switch@client.port_mbps", "", ("switch@client.port_mbps",)),
        ("switch@client.port_mbps", "{ports: switch, port: client}", ()),
        ("switch@client.port_mbps", "{ports: switch, port: server}", ("switch@client.port_mbps",)),
        ("switch@client.port_mbps", "{ports: switch}", ()),
        ("server.send_mbps", "{sar: client}", ("server.send_mbps",)),
        ("server.send_mbps", "{sar: server}", ()),
    ],
)
def test_a_course_over_time_needs_an_instrument_that_samples_it(
    figure: str, instruments: str, missing: tuple[str, ...], tmp_path: Path
) -> None:
    text = text_of() + f"figures: [{{kind: time series, y: {figure}}}]\n"
    found = planned(tmp_path, f"{text}instruments: [{instruments}]\n")
    assert tuple(str(one.metric) for one in found if isinstance(one, NotSampled)) == missing
    assert all("add an instrument there, such as {" in told(one) for one in found)


TIMED = """
study: timed
question: How long do others wait?
topology:
  switch: generic-shallow
  client: host-1g
  server: host-1g
  link: {rate: 100 Mbit/s, delay: "${delay}"}
factors: {delay: [1 ms, 2 ms]}
workload: {transfer: {}, probe: PROBE}
procedure: {idle: 200 ms, warmup: 200 ms, measure: 500 ms}
instruments: [{sar: server, every: 500 ms}, {tcp: server, every: TCP}]
"""


@pytest.mark.parametrize(
    ("probe", "tcp", "seldom"),
    [("10 ms", "500 ms", []), ("10 s", "100 ms", ["probe"]), ("10 s", "501 ms", ["probe", "tcp"])],
)
def test_a_probe_and_a_sampler_need_an_interval_that_fits_into_the_measuring_phase(
    probe: str, tcp: str, seldom: list[str], tmp_path: Path
) -> None:
    found = planned(tmp_path, TIMED.replace("PROBE", probe).replace("TCP", tcp))
    late = [one for one in found if isinstance(one, TooSeldom)]
    assert sorted(one.sampler for one in late) == seldom
    assert all("and the measuring phase lasts 500 ms: it may end without" in told(o) for o in late)


@pytest.mark.parametrize(("replicates", "few"), [(2, True), (3, False)])
def test_a_first_repetition_needs_two_later_ones(
    replicates: int, few: bool, tmp_path: Path
) -> None:
    asked = f"replicates: {replicates}\nconclude: [{{first repetition: true}}]\n"
    text = TIMED.replace("PROBE", "10 ms").replace("TCP", "100 ms") + asked
    found = [one for one in planned(tmp_path, text) if isinstance(one, FewRepetitions)]
    assert [one.repetitions for one in found] == ([replicates] if few else [])
    assert all("takes 3 repetitions of a setting, and the most here is 2" in told(o) for o in found)
