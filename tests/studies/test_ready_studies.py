"""The ready studies, in their short forms in the simulator: each answers its question on the first
screen, and the order that is known beforehand comes out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.studies.answered import Asking

pytestmark = [pytest.mark.engine, pytest.mark.slow]

STUDIES = Path(__file__).parents[2] / "studies"


def test_a_ping_behind_fq_codel_takes_at_most_a_fifth_of_one_behind_a_fifo(tmp_path: Path) -> None:
    found = Asking(tmp_path).run(STUDIES / "bufferbloat", "--quick")
    assert "best, and equal, with fq-codel and with shaped" in found.sentences
    assert "times shorter" in found.sentences
    assert found.winners("probe_loaded_us_p99") == {"fq-codel", "pie", "shaped"}
    for direction in ("get", "put", "both"):

        def value(metric: str, queue: str, way: str = direction) -> float:
            return found.value(metric, queue=queue, direction=way)

        assert value("probe_loaded_us_p99", "fq-codel") <= value("probe_loaded_us_p99", "fifo") / 5
        # 1 MB at 20 Mbit/s are 400 ms, besides the round trip of 40 ms.
        assert 300_000 < value("probe_loaded_us_p50", "fifo") < 900_000
        assert value("probe_idle_us_p50", "fifo") == pytest.approx(40_000, rel=0.02)
        assert value("goodput_mbps", "fq-codel") > 0.95 * value("goodput_mbps", "fifo")
        shaped = value("goodput_mbps", "shaped") / value("goodput_mbps", "fifo")
        assert shaped == pytest.approx(0.8, abs=0.03)


def test_shaping_gets_more_through_a_policer_of_a_small_burst_only(tmp_path: Path) -> None:
    found = Asking(tmp_path).run(STUDIES / "policer", "--quick")
    assert found.sentences.startswith(
        "Partly: goodput is higher with shaped than with policed at burst 12 kB, lower at burst 120"
    )
    small = found.value("goodput_mbps", uplink="policed", burst="12 kB")
    assert 0.2 * 10 < small < 0.45 * 10, "about a third of what the policer lets pass"
    for burst in ("12 kB", "120 kB"):
        shaped = found.value("goodput_mbps", uplink="shaped", burst=burst)
        assert shaped == pytest.approx(8 * 1448 / 1518, rel=0.03)


def test_bbr_gets_most_through_a_path_that_loses_packets(tmp_path: Path) -> None:
    found = Asking(tmp_path).run(STUDIES / "congestion-controls", "--quick")
    levels = {"rate": "100 Mbit/s"}
    for rtt in ("10 ms", "100 ms"):
        clean = [
            found.value("goodput_mbps", control=control, rtt=rtt, loss="0 %", **levels)
            for control in ("cubic", "reno", "bbr")
        ]
        assert min(clean) > 0.85 * 100 * 1448 / 1538, "all fill a path without loss"
    lossy = {
        control: found.value("goodput_mbps", control=control, rtt="100 ms", loss="1 %", **levels)
        for control in ("cubic", "reno", "bbr")
    }
    assert lossy["bbr"] > 50 * max(lossy["cubic"], lossy["reno"])
    assert "bbr" in found.sentences
