"""Shows results of transfers by the agent and by iperf3 side by side: as a table, as JSON, and as a
part of a page.

Each figure is the median over the rounds, given with the lowest and the highest value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.table import Table

from netstudy.report.markdown import replace_between

PAGE = Path(__file__).parents[2] / "docs/concepts/real-traffic.md"
BEGIN, END = "<!-- begin: written by make bench-iperf3 ARGS=--write -->", "<!-- end -->"
OURS, THEIRS = "agent", "iperf3"


@dataclass(frozen=True)
class Cell:
    """One kind of transfer: frame size, number of streams, and offloads."""

    mtu_bytes: int
    streams: int
    offloads: bool
    """Whether offloads are on: the interfaces accept segments of up to 64 KiB and no checksums are
    computed."""


@dataclass(frozen=True)
class Transfer:
    """The result of one transfer."""

    bytes: int
    seconds: float
    cpu_s: float
    """User and system time of all processes together."""

    @property
    def gbps(self) -> float:
        """Rate of the payload that arrived, in 10^9 bit/s."""
        return self.bytes * 8 / self.seconds / 1e9

    @property
    def cpu_ns_a_byte(self) -> float:
        """CPU time per byte, of both ends together."""
        return self.cpu_s / self.bytes * 1e9


@dataclass(frozen=True)
class Figure:
    """The values of one quantity of one program over the rounds."""

    median: float
    lowest: float
    highest: float

    def shown(self, digits: int) -> str:
        """49.6 (45.0 to 50.3)."""
        lowest, highest = f"{self.lowest:.{digits}f}", f"{self.highest:.{digits}f}"
        return f"{self.median:.{digits}f} ({lowest} to {highest})"


@dataclass(frozen=True)
class Quantity:
    """A quantity in which the two programs are compared."""

    name: str
    """In JSON."""
    heading: str
    digits: int
    of: Callable[[Transfer], float]


QUANTITIES = (
    Quantity("gbps", "Gbit/s", 1, lambda one: one.gbps),
    Quantity("cpu_ns_a_byte", "ns a byte", 3, lambda one: one.cpu_ns_a_byte),
)


@dataclass(frozen=True)
class Comparison:
    """Program -> its transfers in the rounds of one cell."""

    cell: Cell
    taken: Mapping[str, Sequence[Transfer]]

    def figure(self, quantity: Quantity, program: str) -> Figure:
        """A program's figure over the rounds."""
        values = [quantity.of(transfer) for transfer in self.taken[program]]
        return Figure(median(values), min(values), max(values))

    def row(self) -> list[str]:
        """One row: the kind of transfer; then for each quantity our figure, that of iperf3, and
        ours divided by theirs."""
        row = [str(self.cell.mtu_bytes), str(self.cell.streams), _on(self.cell)]
        for quantity in QUANTITIES:
            ours, theirs = (self.figure(quantity, program) for program in (OURS, THEIRS))
            row += [ours.shown(quantity.digits), theirs.shown(quantity.digits)]
            row.append(f"{ours.median / theirs.median:.2f}")
        return row


HEADINGS = [
    "MTU",
    "streams",
    "offloads",
    *(
        heading
        for quantity in QUANTITIES
        for heading in (f"{quantity.heading}, {OURS}", THEIRS, "ratio")
    ),
]


def table(compared: Sequence[Comparison], manner: str) -> Table:
    """Throughput and CPU time per byte, and the ratios of the medians."""
    shown = Table(*HEADINGS, caption=manner)
    for one in compared:
        shown.add_row(*one.row())
    return shown


def json_line(compared: Sequence[Comparison]) -> str:
    """All figures as one JSON object."""
    return json.dumps({_name(one.cell): _figures(one) for one in compared})


def _name(cell: Cell) -> str:
    return f"mtu {cell.mtu_bytes}, streams {cell.streams}, offloads {_on(cell)}"


def _on(cell: Cell) -> str:
    return "on" if cell.offloads else "off"


def _figures(one: Comparison) -> dict[str, dict[str, float | list[float]]]:
    figures: dict[str, dict[str, float | list[float]]] = {}
    for quantity in QUANTITIES:
        found = {program: one.figure(quantity, program) for program in (OURS, THEIRS)}
        figures[quantity.name] = {program: each.median for program, each in found.items()}
        figures[f"{quantity.name}_range"] = {
            program: [each.lowest, each.highest] for program, each in found.items()
        }
    return figures


def markdown(compared: Sequence[Comparison], manner: str) -> str:
    """The generated part of the page."""
    rows = [HEADINGS, ["---"] * len(HEADINGS), *(one.row() for one in compared)]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{manner}:\n\n{lines}"


def write(compared: Sequence[Comparison], manner: str, page: Path = PAGE) -> None:
    """Put the figures into the page. Raises StudyError if the page lacks the markers."""
    replace_between(page, BEGIN, END, markdown(compared, manner))
