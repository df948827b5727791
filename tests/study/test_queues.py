"""Queue disciplines and links that are not perfect: from the study to the plan, and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy import queues, wire
from netstudy.errors import StudyError
from netstudy.plan import make_plan
from netstudy.plan.path_words import link_words
from netstudy.plan.paths import carries_bps
from netstudy.study import load

STUDY = """\
study: paths
question: Which?
topology:
  client: host-1g
  server: host-1g
  switches: {modem: generic-deep, isp: generic-deep}
  queues:
    shaped: {discipline: shaper, rate: 16 Mbit/s, burst: 3 kB, over: fq-codel}
    loop: {discipline: shaper, rate: 16 Mbit/s, burst: 3 kB, over: loop}
  links:
    - {between: [client, modem]}
    - {between: [modem, isp], rate: 20 Mbit/s, delay: 20 ms, SLOW}
    - {between: [isp, server]}
factors: {flows: [1, 2]}
workload: {transfer: {flows: "${flows}"}}
procedure: {measure: 10 s}
"""


def slow_link(tmp_path: Path, keys: str) -> wire.Link:
    """The link between the switches, with these keys, as it is in the plan."""
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("SLOW", keys))
    return make_plan(load(path)).plan.runs[0].network.links[1]


def test_a_name_stands_for_a_discipline_with_its_defaults(tmp_path: Path) -> None:
    link = slow_link(tmp_path, "queue: fq-codel")
    assert [port.queue for port in link.ports] == [queues.FqCoDel(), queues.FqCoDel()]


def test_a_named_queue_may_hold_another_one(tmp_path: Path) -> None:
    link = slow_link(tmp_path, "queue: shaped")
    assert link.a.queue == queues.Shaper(
        rate_bps=16_000_000, burst_bytes=3_000, over=queues.FqCoDel()
    )


def test_parameters_have_the_names_of_tc(tmp_path: Path) -> None:
    link = slow_link(tmp_path, "queue: {discipline: codel, limit: 50, target: 2 ms, ecn: true}")
    assert link.a.queue == queues.CoDel(limit_packets=50, target_ns=2_000_000, ecn=True)


def test_a_factor_chooses_among_names(tmp_path: Path) -> None:
    text = STUDY.replace("SLOW", 'queue: "${queue}"').replace(
        "{flows: [1, 2]}", "{queue: [fifo, shaped, pie]}"
    )
    path = tmp_path / "study.yaml"
    path.write_text(text.replace('flows: "${flows}"', ""))
    runs = make_plan(load(path)).plan.runs
    chosen = {run.treatment["queue"]: run.network.links[1].a.queue for run in runs}
    kinds = {name: queue.kind for name, queue in chosen.items() if queue is not None}
    assert kinds == {"fifo": "fifo", "shaped": "shaper", "pie": "pie"}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("queue: fq_codel", '"fq_codel" is no queue; did you mean "fq-codel"?'),
        ("queue: red", "red needs limit, min, max and burst: write a map"),
        ("queue: priority", "priority needs bands: write a map"),
        ("queue: {discipline: shaper, rate: 1 Mbit/s}", "shaper needs burst"),
        ("queue: loop", "the queue loop contains itself"),
        ("queue: {discipline: varying-rate}", "varying-rate needs a schedule or a trace"),
        (
            "queue: {discipline: varying-rate, schedule: [{lasts: 1 s}]}",
            "nothing is ever sent: give a rate",
        ),
        ("queue: {discipline: varying-rate, trace: a.up}", "trace: a.up: No such file"),
        ("queue: {discipline: sfq}", "discipline: must be one of fifo, red, codel"),
        ("queue: {discipline: codel, quantum: 300 B}", "quantum: unknown key"),
        ("loss: {gilbert-elliott: {to_bad: 1 %}}", "to_good: the key is missing"),
        ("loss: 100 %", "loss: must be at most 99.9999 %"),
        ("reorder: true", "reorder: frames overtake others only if delays are random"),
    ],
)
def test_what_cannot_be_is_refused_by_name(tmp_path: Path, keys: str, said: str) -> None:
    with pytest.raises(StudyError) as caught:
        slow_link(tmp_path, keys)
    assert said in str(caught.value)


def test_a_rate_varies_by_a_schedule(tmp_path: Path) -> None:
    schedule = "[{lasts: 2 s, rate: 15 Mbit/s}, {lasts: 3 s}]"
    keys = f"queue: {{discipline: varying-rate, schedule: {schedule}, over: codel}}"
    link = slow_link(tmp_path, keys)
    steps = ((2_000_000_000, 15_000_000), (3_000_000_000, 0))
    assert link.a.queue == queues.VaryingRate(steps=steps, over=queues.CoDel())
    # 6 Mbit/s in the mean, as bits of frames of 1518 bytes, which take 1538 on the wire.
    assert carries_bps(link.a, link) == 6_000_000 * 1538 // 1518


def test_a_rate_varies_by_a_trace_of_mahimahi(tmp_path: Path) -> None:
    # Two packets in the first millisecond, none in the next two, one in the fourth.
    (tmp_path / "lte.down").write_text("1\n1\n4\n")
    link = slow_link(tmp_path, "queue: {discipline: varying-rate, trace: lte.down}")
    steps = ((1_000_000, 24_000_000), (2_000_000, 0), (1_000_000, 12_000_000))
    # Mahimahi counts packets without Ethernet's header and check sequence.
    assert link.a.queue == queues.VaryingRate(steps=steps, overhead_bytes=-18)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1\ntwo\n", "lte.down: line 2: 'two' is not a time in ms"),
        ("5\n3\n", "lte.down: line 2: 3 ms is before 5 ms"),
        ("", "lte.down: has no time after 0 ms"),
    ],
)
def test_a_damaged_trace_is_refused_with_the_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "lte.down").write_text(text)
    with pytest.raises(StudyError) as caught:
        slow_link(tmp_path, "queue: {discipline: varying-rate, trace: lte.down}")
    assert said in str(caught.value)


AS_ONE = "{discipline: shaper, rate: 16 Mbit/s, burst: 3 kB, offload_as_one: true}"
"""A shaper that counts an offloaded packet as one frame."""


def test_a_shaper_of_a_host_may_count_an_offloaded_packet_as_one(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    given = STUDY.replace("SLOW", "")
    path.write_text(
        given.replace("server: host-1g", f"server: {{profile: host-1g, queue: {AS_ONE}}}")
    )
    link = make_plan(load(path)).plan.runs[0].network.links[2]
    shaper = queues.Shaper(rate_bps=16_000_000, burst_bytes=3_000, offload_as_one=True)
    assert (link.a.queue, link.b.queue) == (shaper, None)
    # It limits packets, so the line alone limits bytes.
    assert carries_bps(link.a, link) == link.a.rate_bps == 1_000_000_000
    assert [*queues.limits_of(shaper)] == []


@pytest.mark.parametrize(
    "queue", [AS_ONE, f"{{discipline: policer, rate: 20 Mbit/s, burst: 9 kB, over: {AS_ONE}}}"]
)
def test_at_a_switch_no_frame_belongs_to_an_offloaded_packet(tmp_path: Path, queue: str) -> None:
    with pytest.raises(StudyError) as caught:
        slow_link(tmp_path, f"queue: {queue}")
    assert (
        "queue: offload_as_one: frames reach modem one by one, so it cannot count the frames of an "
        "offloaded packet as one; name the queue at a host"
    ) in str(caught.value)


def test_a_policer_counts_frames(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="offload_as_one: unknown key"):
        slow_link(tmp_path, f"queue: {AS_ONE.replace('shaper', 'policer')}")


def test_capacities_heed_shapers(tmp_path: Path) -> None:
    link = slow_link(tmp_path, "queue: shaped")
    assert carries_bps(link.a, link) == 16_000_000 * 1538 // 1518


def test_a_switch_whose_buffer_is_shared_has_no_disciplines(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    text = STUDY.replace("SLOW", "queue: codel").replace("modem: generic-deep", "modem: nexus-5010")
    path.write_text(text)
    with pytest.raises(StudyError, match="queue: a port of modem cannot have a queue discipline"):
        make_plan(load(path))


def test_each_direction_has_its_delay_and_loss(tmp_path: Path) -> None:
    keys = "jitter: {uniform: 2 ms}, duplicate: 0.5 %, loss: {up: 1 %}"
    text = STUDY.replace("delay: 20 ms", "delay: {up: 20 ms, down: 5 ms}")
    path = tmp_path / "study.yaml"
    path.write_text(text.replace("SLOW", keys))
    link = make_plan(load(path)).plan.runs[0].network.links[1]
    jitter = wire.UniformJitter(max_ns=2_000_000)
    down = wire.LinkPath(duplicate_ppm=5_000, jitter=jitter)
    loss = wire.IndependentLoss(share_ppm=10_000)
    assert link.delay_ns == 5_000_000
    assert link.a.path == down.model_copy(update={"extra_delay_ns": 15_000_000, "loss": loss})
    assert link.b.path == down
    assert [link.delay_from_ns(port) for port in link.ports] == [20_000_000, 5_000_000]


def test_a_loss_of_nothing_is_a_perfect_link(tmp_path: Path) -> None:
    link = slow_link(tmp_path, "loss: 0 %")
    assert [port.path for port in link.ports] == [None, None]
    assert "path" not in link.a.model_dump()


@pytest.mark.parametrize("jitter", ["{exponential: 0 ms}", "{uniform: 0 us}"])
def test_a_jitter_of_nothing_is_a_perfect_link(tmp_path: Path, jitter: str) -> None:
    link = slow_link(tmp_path, f"jitter: {jitter}, reorder: true")
    assert [port.path for port in link.ports] == [None, None]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("loss: 1 %", "20 ms, 1 % lost"),
        ("loss: {down: 1 %}", "20 ms out; 20 ms, 1 % lost back"),
        ("queue: codel", "20 ms, codel"),
        (
            "jitter: {exponential: 1 ms}, reorder: true, duplicate: 1 %",
            "20 ms, 1 % duplicated, exponential jitter of 1 ms on average that reorders",
        ),
        (
            "loss: {gilbert-elliott: {to_bad: 1 %, to_good: 20 %}}",
            "20 ms, 100 % lost in bursts (they begin at 1 % and end at 20 % of the frames)",
        ),
    ],
)
def test_a_link_is_described(tmp_path: Path, keys: str, words: str) -> None:
    assert link_words(slow_link(tmp_path, keys)) == words
