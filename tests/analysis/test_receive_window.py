"""The window that a receiver offers: the formula of the simulator, and the kernel's own windows."""

from __future__ import annotations

import pytest

from netstudy.analysis.receive_window import window_bytes
from netstudy.wire import Tcp


def linux(buffer: int) -> Tcp:
    return Tcp(profile="linux-6", receive_buffer_bytes=buffer, window_rule="scaling-ratio")


@pytest.mark.parametrize(
    ("mtu", "buffer", "measured"),
    [
        (1_500, 65_536, 39_552),
        (1_500, 262_144, 162_432),
        (1_500, 1_048_576, 653_952),
        (9_000, 65_536, 35_712),
        (9_000, 262_144, 169_344),
        (9_000, 1_048_576, 706_688),
    ],
)
def test_the_window_is_that_of_linux_6_18(mtu: int, buffer: int, measured: int) -> None:
    """Measured with packet sockets and without offloads (decision 0070)."""
    assert window_bytes(linux(buffer), mtu, by_kernel=False) == pytest.approx(measured, rel=0.05)


def test_the_numbers_of_the_simulator() -> None:
    """As in the tests of crates/tcp/src/endpoint/window_rule.rs."""
    small = [window_bytes(linux(one), 1_500, by_kernel=False) for one in (576, 2_304, 4_000)]
    assert small == [360, 1_440, 1_440]
    assert window_bytes(linux(65_536), 1_500, by_kernel=False) == 39_520


def test_only_the_simulator_knows_another_rule() -> None:
    tcp = Tcp(profile="rfc", receive_buffer_bytes=65_536, window_rule="buffer")
    assert window_bytes(tcp, 1_500, by_kernel=False) == 65_536
    assert window_bytes(tcp, 1_500, by_kernel=True) == 39_520
