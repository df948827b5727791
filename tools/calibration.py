"""Writes the pages calibration.md of studies: how close calibrated models come to the published
values.

usage: python -m tools.calibration [PROFILE...]

Repeats the `netstudy calibrate` command that fitted a profile, with two differences: only one
round, so that the figures do not change, and longer runs. Writes the result into the marked part of
the study's page. No number between the markers is typed by hand: the aims are defined below, and
all other numbers come from the command's output, the study's reference data and the profiles.
"""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final, get_args

from netstudy import __version__
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.workloads import NAMED, RELATIVE
from netstudy.calibration import figure_named
from netstudy.errors import StudyError, TestbedError, exit_code
from netstudy.hardware import FigureRow, HardwareLibrary, Kind
from netstudy.report.cellrefs import count, plain
from netstudy.report.markdown import captioned_table, replace_between, text
from netstudy.report.numbers import level_text, with_unit
from netstudy.report.refs import Name, Number, say
from netstudy.report.tables import Group, Table, Value
from netstudy.study import Study, load
from netstudy.study.vocabulary import split_metric
from netstudy.testbed.engine import engine_version, find_engine
from netstudy.wire import Treatment

ROOT = Path(__file__).parents[1]
PAGES: Final = {
    "trade-z9": ROOT / "studies/trade/calibration.md",
    "ethernet-z9": ROOT / "studies/ethernet/calibration.md",
}
"""Page of each profile."""
MEASURE: Final = "120 s"
"""Simulated time of each run: long enough that random variation is small compared with the aims."""

BASE: Final = 100.0
"""The published value of a row that is the base of percentages: the other rows are percentages of
it."""


@dataclass(frozen=True)
class Aim:
    """The largest permitted error of a metric; of the limits below, the widest applies."""

    metric: str
    share: float = 0.0
    """Permitted error as a share of the published value."""
    share_extrapolated: float | None = None
    """The same, for rows with more CPUs than any fitted row."""
    least: float = 0.0
    """Permitted error, in the unit of the metric."""
    factor: float = 1.0
    """Permitted factor between simulated and published value, in both directions."""

    def share_of(self, row: Row) -> float:
        """The share that applies to a row."""
        extrapolated = self.share_extrapolated if row.kind == "extrapolated" else None
        return self.share if extrapolated is None else extrapolated


AIMS: Final = (
    Aim("etr_pct", share=0.02, share_extrapolated=0.03),
    Aim("response_ms_mean", share=0.05, least=1.0),
    Aim("app.cpu_pct", least=2.0),
    Aim("db.cpu_pct", least=5.0),
    Aim("app@client.network_mbps", share=0.02),
    Aim("app@client.txdrop_per_s", least=1.0, factor=2.0),
)


@dataclass(frozen=True)
class Row:
    """A published value and the simulated value."""

    file: str
    treatment: Treatment
    metric: str
    published: float
    simulated: float
    left_out: float | None
    kind: str
    """One of: fitted; predicted; extrapolated (predicted, with more CPUs than any fitted row); base
    (the other rows of the file are percentages of this row)."""


BEGIN = "<!-- calibration: written by python -m tools.calibration -->"
END = "<!-- end of calibration -->"


def command_of(profile: str, library: HardwareLibrary) -> str:
    """The command that fitted the figures of a profile. Raises StudyError unless the profile names
    exactly one command."""
    found = {row.origin for row in fitted_rows(profile, library)}
    if len(found) != 1:
        raise StudyError(f"the figures of {profile} were found by {len(found)} commands, not one")
    return found.pop()


def judging(command: str, measure: str) -> list[str]:
    """The arguments of a command that evaluates the figures that `command` fitted, without fitting
    again."""
    words = shlex.split(command)
    head, options, values = words[:3], words[3::2], words[4::2]
    kept = [
        (option, value)
        for option, value in zip(options, values, strict=True)
        if option not in ("--choose", "--rounds", "--measure")
    ]
    given = [*kept, ("--rounds", "1"), ("--measure", measure)]
    return [*head, *(word for pair in given for word in pair)]


def answer(words: Sequence[str]) -> dict[str, Any]:
    """The JSON output of a netstudy command, run at the top of the repository.

    Raises TestbedError if the command fails.
    """
    command = [sys.executable, "-m", *words, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TestbedError(f"{shlex.join(words)} failed: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def rows_of(found: Mapping[str, Any]) -> list[Row]:
    """The rows of a command's output, by file. If the source prints 100 for a row, the simulated
    values are made percentages of that row too, as in the source. (The fit, in contrast, spreads
    the error of the base over all rows.)"""
    rows = [
        Row(
            file=one["row"].rpartition(":")[0],
            treatment=one["treatment"],
            metric=one["metric"],
            published=one["measured"],
            simulated=one["simulated"],
            left_out=one["left_out"],
            kind="predicted" if one["predicted"] else "fitted",
        )
        for one in found["rows"]
    ]
    return [_in_percent_of_base(_extrapolated(row, rows), rows) for row in rows]


def _extrapolated(row: Row, rows: Sequence[Row]) -> Row:
    known = [_cpus(one) for one in rows if one.file == row.file and one.kind == "fitted"]
    more = row.kind == "predicted" and known and _cpus(row) > max(known)
    return replace(row, kind="extrapolated") if more else row


def _cpus(row: Row) -> float:
    found = row.treatment.get("cpus")
    return found if isinstance(found, int | float) else 0.0


def _in_percent_of_base(row: Row, rows: Sequence[Row]) -> Row:
    if row.metric not in RELATIVE:
        return row
    for one in rows:
        if (one.file, one.metric, one.published) == (row.file, row.metric, BASE):
            kind = "base" if row.treatment == one.treatment else row.kind
            return replace(row, kind=kind, simulated=row.simulated * BASE / one.simulated)
    return row


def block(profile: str, words: Sequence[str], found: Mapping[str, Any]) -> str:
    """The text between the markers of a profile's page, made from `found`, the output of the
    command."""
    # The command itself says which study and which length: the page repeats it word for word.
    study = load(ROOT / words[2])
    rows = rows_of(found)
    told = {one.file: tuple(one.factors) for one in study.reference}
    library = HardwareLibrary.default(study.folder)
    said = say(
        "netstudy {own}, {engine}; runs of {measure}, with different random numbers from the"
        " fit's. Sum of squares of {n} fitted values in units of their tolerance, with the random"
        " numbers of the fit: {cost}.",
        own=Name(__version__),
        engine=Name(engine_version(find_engine())),
        measure=Name(words[-1]),
        n=count(sum(row.kind in ("fitted", "base") for row in rows), "fitted values"),
        cost=plain(found["sum_of_squares"], 1, "", "sum of squares"),
    )
    unresolved = "\n".join(f"- {text(one)}" for one in found["unresolved"])
    return "\n\n".join(
        (
            text(said),
            f"```sh\n{shlex.join(words)}\n```",
            captioned_table(aims_table(rows, told)),
            *map(captioned_table, row_tables(rows, study)),
            *(("**Below the model's resolution**", unresolved) if unresolved else ()),
            captioned_table(figures_table(profile, found, library)),
        )
    )


def aims_table(rows: Sequence[Row], told: Mapping[str, Sequence[str]]) -> Table:
    """A table with one line for each aim and kind of row, about the row that is farthest from its
    published value. Kinds: fitted rows, the same rows predicted by a fit to the others (left out),
    and rows that were not fitted. `told` gives the factors of each file."""
    left_out = (
        replace(row, simulated=row.left_out, kind="left out")
        for row in rows
        if row.left_out is not None
    )
    said = [*rows, *left_out]
    kinds = ("fitted", "left out", "predicted", "extrapolated")
    found = (
        (aim, kind, [row for row in said if (row.metric, row.kind) == (aim.metric, kind)])
        for aim in AIMS
        for kind in kinds
    )
    heads = ("Metric", "Rows", "Aim", "Farthest", "published", "simulated", "error")
    groups = (*map(Group, heads), Group("error", "%"), Group("Met"))
    table_rows = tuple(_aim_row(aim, kind, own, told) for aim, kind, own in found if own)
    return Table("aims", say("Against the aims"), groups, table_rows, stub=3)


def _aim_row(
    aim: Aim, kind: str, rows: Sequence[Row], told: Mapping[str, Sequence[str]]
) -> tuple[Value, ...]:
    worst = max(rows, key=lambda row: strain(aim, row))
    return (
        _title(aim.metric),
        Name(f"{len(rows)} {kind}"),
        Name(_aim_text(aim, worst)),
        Name(_place(worst.treatment, told[worst.file])),
        *_values(worst),
        Name("yes" if strain(aim, worst) <= 1 else "no"),
    )


def strain(aim: Aim, row: Row) -> float:
    """The error of a row as a share of the permitted error."""
    published, error = row.published, row.simulated - row.published
    other = published * aim.factor if error > 0 else published / aim.factor
    permitted = max(aim.share_of(row) * published, aim.least, abs(other - published))
    if not error:
        return 0.0
    return abs(error) / permitted if permitted else math.inf


def _aim_text(aim: Aim, row: Row) -> str:
    metric = _metric(aim.metric)
    unit = "points" if metric.is_share else metric.unit
    least, share = f"{aim.least:g}", aim.share_of(row)
    parts = (
        f"a factor of {aim.factor:g}" if aim.factor > 1 else "",
        f"{100 * share:g} %" if share else "",
        (least + unit[1:] if unit.startswith("1/") else with_unit(least, unit)) * bool(aim.least),
    )
    return " or ".join(part for part in parts if part)


def row_tables(rows: Sequence[Row], study: Study) -> Iterator[Table]:
    """One table per reference file: each published value and the simulated value."""
    for file, found in groupby(rows, lambda row: row.file):
        own = list(found)
        (reference,) = (one for one in study.reference if one.file == file)
        every = tuple(reference.factors)
        varying = [name for name in every if len({str(row.treatment.get(name)) for row in own}) > 1]
        shown = varying or every
        held = _place(own[0].treatment, [name for name in every if name not in shown])
        heads = (*shown, "metric", "published", "simulated", "error", "error %", "left out", "is")
        lines = tuple(
            (
                *(Name(level_text(row.treatment[name])) for name in shown),
                _title(row.metric),
                *_values(row),
                _number(row.left_out, row.metric),
                Name(row.kind),
            )
            for row in own
        )
        caption = say(
            "{source}{held}",
            source=Name(reference.source),
            held=Name(f" ({held})" if held else ""),
        )
        yield Table(f"rows-{file}", caption, tuple(map(Group, heads)), lines, stub=len(shown))


def _title(metric: str) -> Name:
    found = _metric(metric)
    return Name(f"{found.title} ({found.unit})")


def _place(treatment: Treatment, names: Sequence[str]) -> str:
    return ", ".join(f"{name} {level_text(treatment.get(name))}" for name in names)


def _values(row: Row) -> tuple[Number | None, ...]:
    """Published value, simulated value, error, and error in percent of a row."""
    error = row.simulated - row.published
    share = 100 * error / row.published if row.published else None
    return (
        _number(row.published, row.metric),
        _number(row.simulated, row.metric),
        _number(error, row.metric),
        None if share is None else plain(share, 1, "", f"error of {row.metric}"),
    )


def _number(value: float | None, metric: str) -> Number | None:
    return None if value is None else plain(value, 2, "", metric)


def _metric(name: str) -> Metric:
    found = metric_named(split_metric(name), NAMED)
    assert found is not None, "the command has a value of this metric"
    return found


def figures_table(profile: str, found: Mapping[str, Any], library: HardwareLibrary) -> Table:
    """The fitted figures of all profiles that the command names."""
    named = (figure_named(library, name, profile).profile for name in found["values"])
    rows = tuple(
        (Name(name), Name(row.name), Name(row.value), Name(row.interval or ""))
        for name in dict.fromkeys((profile, *named))
        for row in fitted_rows(name, library)
    )
    heads = ("profile", "figure", "value", "fits as well")
    return Table("figures", say("Fitted figures"), tuple(map(Group, heads)), rows, stub=2)


def fitted_rows(profile: str, library: HardwareLibrary) -> list[FigureRow]:
    """The figures of a profile that were fitted."""
    kinds: tuple[Kind, ...] = get_args(Kind)
    (kind,) = (kind for kind in kinds if profile in library.names(kind))
    return [row for row in library.rows(kind, profile) if row.source == "fitted"]


def write(profile: str, page: Path, measure: str = MEASURE) -> None:
    """Evaluate a profile and write the result into a page."""
    words = judging(command_of(profile, HardwareLibrary.default()), measure)
    replace_between(page, BEGIN, END, block(profile, words, answer(words)))


def _make(profiles: Sequence[str]) -> None:
    for profile in profiles:
        if profile not in PAGES:
            raise StudyError(f"{profile} is not one of {', '.join(PAGES)}")
        write(profile, PAGES[profile])
        print(PAGES[profile].relative_to(ROOT))


def main(arguments: Sequence[str]) -> int:
    """Run from the command line; returns the exit code."""
    return exit_code(lambda: _make(arguments or [*PAGES]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
