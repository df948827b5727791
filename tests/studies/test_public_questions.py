"""Questions that people have asked in public, each as a study in the simulator: with its known
answer, which comes from the source named and not from the simulator."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.studies.answered import Asking

pytestmark = pytest.mark.engine


@pytest.fixture
def ask(tmp_path: Path) -> Asking:
    """Carry out a study and analyse its results."""
    return Asking(tmp_path)


LOSSY = """\
study: bbr-lossy
question: CUBIC or BBR over 100 ms with 1 % loss?
factors:
  control: [cubic, bbr]
topology:
  hosts:
    client: {profile: host-10g, tcp: {congestion_control: "${control}"}}
    server: {profile: host-10g, tcp: {congestion_control: "${control}"}}
  links:
    - {between: [client, server], rate: 10 Gbit/s, delay: 50 ms, loss: 1 %}
workload:
  transfer: {direction: put}
procedure: {warmup: 5 s, measure: 30 s}
replicates: 5
noise: 3 %
compare: {factor: control, base: cubic}
"""


def test_bbr_is_far_above_cubic_at_1_percent_loss_and_100_ms(ask: Asking) -> None:
    """CUBIC gets what the law of Mathis and others (1997) allows a loss-based control: MSS / RTT x
    sqrt(3/2 / p) = 1448 B x 8 / 0.1 s x 12.2 = 1.42 Mbit/s. BBR is limited by its sockets of 4 MB
    here, not by the loss (mail of its kernel patch: above 9,000 Mbit/s with larger ones)."""
    found = ask(LOSSY)
    mathis_mbps = 1448 * 8 / 0.1 * math.sqrt(1.5 / 0.01) / 1e6
    assert found.winners("goodput_mbps") == {"bbr"}
    assert found.value("goodput_mbps", control="cubic") == pytest.approx(mathis_mbps, rel=0.3)
    assert found.value("goodput_mbps", control="bbr") > 50 * mathis_mbps


POLICED = """\
study: policer
question: Does shaping the server to 80 % of a policed 10 Mbit/s more than double what gets through?
factors:
  shaping:
    - {name: none, queue: fifo}
    - {name: 80 %, queue: shaper}
topology:
  queues:
    policer: {discipline: policer, rate: 10 Mbit/s, burst: 12 kB}
    shaper: {discipline: shaper, rate: 8 Mbit/s, burst: 3 kB, over: fifo}
  hosts:
    client: {profile: host-1g}
    server: {profile: host-1g}
  switches:
    router: {profile: generic-shallow, port_buffer: 1 MB, queue: "${queue}"}
    isp: {profile: generic-shallow, port_buffer: 1 MB, queue: policer}
  links:
    - {between: [server, router], rate: 1 Gbit/s}
    - {between: [router, isp], rate: 100 Mbit/s, delay: 1 ms}
    - {between: [isp, client], rate: 100 Mbit/s, delay: 15 ms}
workload:
  transfer: {direction: get}
procedure: {warmup: 10 s, measure: 60 s}
replicates: 5
noise: 3 %
compare: {factor: shaping, base: none}
"""


def test_a_policed_uplink_gives_tcp_a_third_and_a_shaped_one_its_80_percent(ask: Asking) -> None:
    found = ask(POLICED)
    policed = found.value("goodput_mbps", shaping="none")
    shaped = found.value("goodput_mbps", shaping="80 %")
    assert found.winners("goodput_mbps") == {"80 %"}
    assert 0.2 * 10 < policed < 0.45 * 10
    assert shaped == pytest.approx(8 * 1448 / 1518, rel=0.02), "full segments at 8 Mbit/s"
    assert shaped > 2 * policed
    assert "Frames wait longest in the queue at router to isp (" in found.sentences


def test_limits_are_named_by_their_disciplines(ask: Asking) -> None:
    """The policer drops frames without ever being full; the shaper is full."""
    limits = POLICED.replace("compare: {factor: shaping, base: none}", "conclude: [bottleneck]")
    said = ask(limits).sentences
    assert "which drops in the policer at isp to client hold down" in said
    assert "is the shaper from router to isp: 100.0 % in use" in said


SHAPED_HOST = """\
study: htb-tso
question: Does a shaper of 75 kbit/s at a host let more through when segments are offloaded?
factors: {offload: [0 B, 64 KiB]}
topology:
  hosts:
    client: {profile: host-1g}
    server:
      profile: host-1g
      queue: {discipline: shaper, rate: 75 kbit/s, burst: 3 kB}
      tcp: {offload_burst: "${offload}"}
  links: [{between: [client, server], rate: 100 Mbit/s, delay: 1 ms}]
workload: {transfer: {direction: get}}
procedure: {warmup: 20 s, measure: 60 s}
replicates: 3
noise: 5 %
compare: {factor: offload, base: 0 B}
"""


def test_a_shaper_that_counts_frames_keeps_its_rate_whatever_is_offloaded(ask: Asking) -> None:
    """One that counts frames lets 75 kbit/s pass, 1448 of 1518 bytes of it data."""
    found = ask(SHAPED_HOST)
    for offload in ("0 B", "64 KiB"):
        goodput_kbps = 1_000 * found.value("goodput_mbps", offload=offload)
        assert goodput_kbps == pytest.approx(75 * 1448 / 1518, rel=0.05), offload


GIANTS = (
    SHAPED_HOST.replace("burst: 3 kB", "burst: 3 kB, offload_as_one: true")
    .replace("factors: {", "factors: {delay: [100 us, 500 us, 1 ms], ")
    .replace("delay: 1 ms}]", 'delay: "${delay}"}]')
)


def test_a_shaper_that_counts_a_packet_as_one_lets_each_of_its_frames_through(ask: Asking) -> None:
    """A packet costs its first frame. By `tcp_tso_autosize`, a packet has 65,536 bytes, halved for
    each 512 us of the shortest round trip, and what the pacing rate carries in a millisecond (50 to
    400 B here). The shortest round trips are 0.34, 1.14 and 2.16 ms: 65,536 B are 45 segments of
    1448 B; 16,384 B are 11; and 4,096 B with 342 B of pacing are 3."""
    found = ask(GIANTS)
    assert found.winners("goodput_mbps") == {"64 KiB"}
    for delay, segments in (("100 us", 45), ("500 us", 11), ("1 ms", 3)):
        singly = 1_000 * found.value("goodput_mbps", offload="0 B", delay=delay)
        assert singly == pytest.approx(75 * 1448 / 1518, rel=0.01), delay
        in_packets = 1_000 * found.value("goodput_mbps", offload="64 KiB", delay=delay)
        assert in_packets == pytest.approx(segments * 75 * 1448 / 1518, rel=0.01), delay


def test_590_kbps_pass_if_a_packet_costs_the_last_entry_of_a_rate_table(ask: Asking) -> None:
    """`tc` gives htb a table of 256 entries, one for each 8 bytes, so any longer packet costs 2,048
    bytes: 530 more than a frame of 1518. The packets of the asker's host are
    not known; those of 11 segments, with 500 us each way, give 11 x 75 kbit/s x 1448 / 2048."""
    found = ask(
        GIANTS.replace("true}", "true, overhead: 530 B}").replace("100 us, 500 us, 1 ms", "500 us")
    )
    passed = 1_000 * found.value("goodput_mbps", offload="64 KiB")
    assert passed == pytest.approx(11 * 75 * 1448 / 2048, rel=0.01)
    assert passed == pytest.approx(590, rel=0.05)


NAGLE = """\
study: nagle-40ms
question: Do answers of 1.5 to 3 kB take 40 ms on a LAN, and would TCP_NODELAY at the server help?
factors:
  response: [1400 B, 2000 B]
  nodelay: [false, true]
topology:
  hosts:
    client: {profile: host-10g}
    server: {profile: host-10g, tcp: {nodelay: "${nodelay}"}}
  links:
    - {between: [client, server], rate: 10 Gbit/s, delay: 5 us}
workload:
  request:
    request: 200 B
    response: "${response}"
    writes: 2
    requests: 2000
    warmup: 100
replicates: 3
noise: 5 %
compare: {factor: nodelay, base: false, on: [latency_us_p50]}
"""


def test_answers_in_two_writes_take_40_ms_without_nodelay(ask: Asking) -> None:
    """Nagle's rule holds the second part back until the first is acknowledged, and the client
    delays that acknowledgment by 40 ms: 41.9 ms over the loopback of a real kernel."""
    found = ask(NAGLE)
    assert found.winners("latency_us_p50") == {True}
    for response in ("1400 B", "2000 B"):
        waits = found.value("latency_us_p50", response=response, nodelay="False")
        prompt = found.value("latency_us_p50", response=response, nodelay="True")
        assert 40_000 <= waits < 45_000, response
        assert prompt < 1_000, response
