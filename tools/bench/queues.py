"""Holds queue disciplines and congestion controls against ns-3: `python -m tools.bench.queues`.

Long flows share a slow port with a discipline; see benches/peers/queues.yaml. Writes a table into
benches/peers/results.md, with the bands that were stated before the first comparison.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Final

from rich.console import Console
from rich.progress import track

from netstudy import wire
from netstudy.analysis.nodes.queues import percentile_ns
from netstudy.report.markdown import replace_between
from netstudy.units import FRAMING_BYTES
from tools.bench import scenarios, usage
from tools.bench.agreement import PAGE

NS3_PROGRAM: Final = scenarios.ROOT / ".cache/peers/ns3_queues"
STUDY: Final = scenarios.PEERS / "queues.yaml"
BEGIN: Final = "<!-- begin: written by python -m tools.bench.queues -->"
END: Final = "<!-- end of queues -->"
SEEDS: Final = (1, 2, 3)
_MTU: Final = 1500
_PPP_BYTES: Final = 2
"""Bytes of a frame's header in ns-3's point-to-point links, which have nothing else around it."""
BANDS_PCT: Final = {"goodput": 10, "drops": 20, "mean": 20, "p50": 20, "p99": 20}


@dataclass(frozen=True)
class Seen:
    """The results of one program for one cell."""

    goodput: float
    """Share of the line's rate without frames' headers, in percent."""
    drops: float
    mean: float
    """Milliseconds in the queue; `p50` and `p99` too."""
    p50: float
    p99: float
    user_s: float

    @classmethod
    def mean_of(cls, each: Sequence[Seen]) -> Seen:
        """The mean of each quantity."""
        return cls(**{name: mean(getattr(one, name) for one in each) for name in cls.names()})

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The quantities."""
        return tuple(cls.__dataclass_fields__)


def netstudy(control: str, queue: str, seed: int) -> Seen:
    """A run of the engine."""
    levels = {"control": control, "queue": queue}
    (run,) = (one for one in scenarios.runs(STUDY, seed) if dict(one.treatment) == levels)
    used = usage.run(scenarios.engine_job([run]))
    (record,) = scenarios.run_records(used.output)
    (waits,) = (one for one in record.samples.queue if (one.node, one.port) == ("west", "east"))
    received = record.bytes_received or 0
    (measured,) = (one for one in record.phases if one.kind == "measure")
    seconds = (measured.end_ns - measured.start_ns) / 1e9
    return Seen(
        goodput=_share_pct(8 * received / seconds / 1e6, FRAMING_BYTES),
        drops=waits.frames_dropped_at_arrival + waits.frames_dropped_at_departure,
        mean=waits.sojourn_sum_ns / waits.frames_sent / 1e6,
        p50=percentile_ns([waits], 50) / 1e6,
        p99=percentile_ns([waits], 99) / 1e6,
        user_s=used.user_s,
    )


def ns3(control: str, queue: str, seed: int) -> Seen:
    """A run of ns-3."""
    asked = (f"--control={control}", f"--queue={queue.removeprefix('deep-')}", f"--seed={seed}")
    used = usage.run(usage.Job((str(NS3_PROGRAM), *asked)))
    said = json.loads(used.output)
    return Seen(
        goodput=_share_pct(said["goodput_mbps"], _PPP_BYTES),
        drops=said["drops"],
        mean=said["sojourn_ms"],
        p50=said["sojourn_p50_ms"],
        p99=said["sojourn_p99_ms"],
        user_s=used.user_s,
    )


def _share_pct(goodput_mbps: float, around_bytes: int) -> float:
    """Goodput as a share of what the line can carry in frames with these bytes around them."""
    return 100 * goodput_mbps * (_MTU + around_bytes) / (_MTU - 52) / 20


def rows(seen: Sequence[tuple[wire.Treatment, Seen, Seen]]) -> Iterator[list[str]]:
    """A row of each cell: both programs, and the quantities outside of their bands."""
    for treatment, own, other in seen:
        outside = [
            f"{name} {_off(getattr(own, name), getattr(other, name))}"
            for name, band_pct in BANDS_PCT.items()
            if not _agrees(getattr(own, name), getattr(other, name), band_pct)
        ]
        yield [
            *map(str, treatment.values()),
            *(
                f"{getattr(one, name):,.{digits}f}"
                for name, digits in (
                    ("goodput", 1),
                    ("drops", 0),
                    ("mean", 1),
                    ("p50", 1),
                    ("p99", 1),
                )
                for one in (own, other)
            ),
            f"{other.user_s / own.user_s:.0f}",
            ", ".join(outside) or "none",
        ]


def _off(own: float, other: float) -> str:
    return f"{100 * (own / other - 1):+.0f} %" if other else f"{own:,.0f} instead of 0"


def _agrees(own: float, other: float, band_pct: float) -> bool:
    return abs(own - other) <= band_pct / 100 * abs(other)


def table(seen: Sequence[tuple[wire.Treatment, Seen, Seen]]) -> str:
    """The generated part of the page."""
    quantities = ("goodput %", "drops", "mean ms", "p50 ms", "p99 ms")
    head = [
        "control",
        "queue",
        *(f"{what}, {program}" for what in quantities for program in ("netstudy", "ns-3")),
        "times ns-3's speed",
        "outside",
    ]
    rule = ["---", "---", *["---:"] * (len(head) - 3), "---"]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows(seen)))


def main() -> None:
    """Measure all cells with all seeds, print the table, and write it into the page."""
    seen = []
    cells = scenarios.runs(STUDY, 1)
    for run in track(cells, "queues", console=Console(stderr=True)):
        control, queue = map(str, run.treatment.values())
        each = [(netstudy(control, queue, seed), ns3(control, queue, seed)) for seed in SEEDS]
        own, other = (Seen.mean_of(some) for some in zip(*each, strict=True))
        seen.append((run.treatment, own, other))
    made = table(seen)
    print(made)
    replace_between(PAGE, BEGIN, END, made)


if __name__ == "__main__":
    main()
