"""Which processor deals with received frames."""

from __future__ import annotations

import pytest

from netstudy.testbed.netns.steering import cpu_mask


@pytest.mark.parametrize(
    ("cpu", "mask"), [(0, "1"), (3, "8"), (31, "80000000"), (33, "2,00000000")]
)
def test_a_processor_is_written_as_the_kernel_reads_it(cpu: int, mask: str) -> None:
    assert cpu_mask(cpu) == mask
