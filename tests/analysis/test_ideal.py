"""The bound of the wire, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netstudy.analysis.workloads.incast import ideal_of
from netstudy.wire import Incast
from tests.report.synthetic import run


def test_one_server_with_jumbo_frames() -> None:
    # MSS 9000 - 52 = 8948; 4,000,000 / 8948 = 447.03, so 448 segments; each carries 90 B more
    ideal = ideal_of(run({"servers": 1}))
    assert ideal.segments == 448
    assert ideal.wire_bytes == 4_000_000 + 448 * 90
    assert ideal.goodput_mbps == pytest.approx(10_000 * 4_000_000 / 4_040_320)


def test_unstriped_blocks_grow_with_the_servers_and_striped_ones_do_not() -> None:
    eight = run({"servers": 8})
    workload = eight.workload.model_copy(update={"striped": True})
    striped = replace(eight, workload=workload)
    assert ideal_of(eight).payload_bytes == 32_000_000
    assert ideal_of(striped).payload_bytes == 4_000_000
    assert ideal_of(striped).segments == 8 * 56  # 500,000 / 8948 = 55.9


def test_servers_of_a_block_that_does_not_divide_evenly_send_what_the_engine_has_them_send() -> (
    None
):
    three = run({"servers": 3})
    work = three.workload.model_copy(update={"striped": True, "block_bytes": 3 * 2 * 8948 + 1})
    assert isinstance(work, Incast)
    assert work.response_bytes == (17_897, 17_896, 17_896)
    ideal = ideal_of(replace(three, workload=work))
    assert ideal.payload_bytes == 53_689
    assert ideal.segments == 3 + 2 + 2


def test_the_bound_is_the_rate_at_which_data_comes_to_the_client() -> None:
    symmetric = run({"servers": 2})
    links = tuple(
        link.model_copy(
            update={
                end: port.model_copy(update={"rate_bps": 10**7 if port.node == "client" else 10**8})
                for end, port in (("a", link.a), ("b", link.b))
            }
        )
        for link in symmetric.network.links
    )
    network = symmetric.network.model_copy(update={"links": links})
    ideal = ideal_of(replace(symmetric, network=network))
    assert ideal.line_rate_bps == 10**8
    assert ideal.goodput_mbps == pytest.approx(100 * 8_000_000 / 8_080_640)
