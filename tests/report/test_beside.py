"""A report's charts are drawn by two processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from netstudy.beside import beside

DRAWN_BY = """
import os
from netstudy.report.charts import render
from netstudy.report.document import Document
from netstudy.report.pages import _draw

class Chart:
    is_chart = True
    drawn = None
    @property
    def wide(self):
        self.drawn = self.drawn or str(os.getpid())
        return self.drawn
    def take(self, wide):
        self.drawn = wide

class Drawings:
    def __init__(self):
        self.charts = [Chart() for _ in range(5)]
    def figures(self):
        return iter(self.charts)

def drawn():
    drawings = Drawings()
    _draw(drawings)
    return [one.drawn for one in drawings.charts]

here = str(os.getpid())
first = drawn()
assert first[::2] == [here] * 3, first
assert len({*first[1::2]}) == 1 and None not in first and here not in first[1::2], first
render._with_own_fonts()
assert drawn() == [None] * 5, "they are drawn when they are asked for"
"""


def test_every_other_chart_is_drawn_by_a_copy_unless_the_library_already_runs() -> None:
    subprocess.run([sys.executable, "-c", DRAWN_BY], check=True, timeout=60)


def test_work_beside_is_done_by_another_process() -> None:
    with beside(lambda: str(os.getpid()).encode()) as result:
        assert result() != str(os.getpid()).encode()


def test_what_a_copy_cannot_finish_is_carried_out_here() -> None:
    own = os.getpid()

    def work() -> bytes:
        if os.getpid() != own:
            os._exit(1)
        raise ValueError("seen")

    with beside(work) as result, pytest.raises(ValueError, match="seen"):
        result()
