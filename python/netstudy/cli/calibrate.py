"""`netstudy calibrate`: fit figures of a profile to a study's reference data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netstudy.cli import _options as options
from netstudy.cli._terminal import print_json
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.calibration import Calibration, Judged
    from netstudy.study import Study

NAME = "calibrate"
EPILOG = (
    "Example: netstudy calibrate studies/trade --profile trade-z9 --fit app_cpu,database_cpu "
    "--choose database_slots=6,8,10 --tolerance response_ms_mean=0.4"
)


def command(
    study: options.StudyPath,
    profile: Annotated[
        str, typer.Option("--profile", help="The profile of an application to fit.")
    ],
    fit: Annotated[
        str, typer.Option("--fit", metavar="FIGURES", help="Its figures to fit: a,b,c.")
    ],
    choose: Annotated[
        list[str] | None,
        typer.Option("--choose", metavar="FIGURE=VALUES", help="Figures of which to try values."),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            "--tolerance",
            metavar="METRIC=NUMBER",
            help="How far the model may be from a metric, in its unit. [default: 1 %]",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", metavar="METRIC", help="Metrics that are not looked at."),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Rounds of the search.")] = 4,
    measure: Annotated[
        str, typer.Option("--measure", help="Simulated time of each run, after 2 s of warm-up.")
    ] = "20 s",
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="FILE", help="Write the profile with what was found."),
    ] = None,
    threads: Annotated[int | None, typer.Option("--threads", min=1)] = None,
    json: options.Json = False,
) -> None:
    """Fit figures of an application's profile to the reference data of a study, by the simulator.

    Rows of a reference with `predict: true` are never fitted: what the model says of them is shown.
    The leave-one-out column is what it says of a row when fitted to all others.
    """
    from netstudy.calibration import Options, calibrate, written
    from netstudy.hardware import HardwareLibrary
    from netstudy.study import load
    from netstudy.units import parse_duration

    known = load(study)
    asked = Options(
        figures=tuple(part.strip() for part in fit.split(",")),
        choices=dict(_choice(text) for text in choose or ()),
        tolerances=dict(_number(text) for text in tolerance or ()),
        left_out=frozenset(without or ()),
        rounds=rounds,
        measure_s=parse_duration(measure) / 1e9,
        threads=threads,
    )
    found = calibrate(known, profile, asked)
    if write is not None:
        library = HardwareLibrary.default(known.folder)
        write.write_text(written(library, found, _source(known)), encoding="utf-8")
    if json:
        print_json(_data(found))
    else:
        for line in _lines(found):
            print(line)


def _source(study: Study) -> str:
    files = dict.fromkeys(one.file for one in study.reference if not one.predict)
    return f"netstudy calibrate on {study.study}/" + ", ".join(files)


def _choice(text: str) -> tuple[str, tuple[Any, ...]]:
    name, given, values = text.partition("=")
    if not given or not all(part.strip().isdigit() for part in values.split(",")):
        raise StudyError(f"--choose {text}: write FIGURE=VALUES, such as database_slots=6,8")
    return name, tuple(int(part) for part in values.split(","))


def _number(text: str) -> tuple[str, float]:
    name, given, value = text.rpartition("=")
    try:
        return name, float(value) if given else _refused(text)
    except ValueError:
        _refused(text)
        raise


def _refused(text: str) -> float:
    raise StudyError(f"--tolerance {text}: write METRIC=NUMBER, such as response_ms_mean=0.5")


def _lines(found: Calibration) -> Iterator[str]:
    from netstudy import wire
    from netstudy.calibration.model import written
    from netstudy.knobs import knobs

    known = knobs(wire.Costs)
    yield f"profile {found.profile}, sum of squares {found.cost:.1f}"
    for choice, cost in found.costs.items() if len(found.costs) > 1 else ():
        yield f"tried {choice}: {cost:.1f}"
    for name, value in found.chosen.items():
        yield f"{name}: {value}"
    for name, value in found.values.items():
        low, high = (written(known[name], end) for end in found.intervals[name])
        yield f"{name}: {written(known[name], value)} ({low} to {high})"
    yield ""
    for one in found.judged:
        yield _row(one)
    yield from found.unresolved


def _row(one: Judged) -> str:
    target = one.target
    without = "predicted" if one.left_out is None else f"left out {one.left_out:.4g}"
    return (
        f"{target.row} {target.metric}: published {target.value:g}, simulated "
        f"{one.simulated:.4g}, error {one.error:+.3g}, {without}"
    )


def _data(found: Calibration) -> dict[str, Any]:
    return {
        "profile": found.profile,
        "values": dict(found.values),
        "intervals": {name: list(ends) for name, ends in found.intervals.items()},
        "chosen": dict(found.chosen),
        "sum_of_squares": found.cost,
        "tried": dict(found.costs),
        "rows": [
            {
                "row": one.target.row,
                "metric": one.target.metric,
                "published": one.target.value,
                "simulated": one.simulated,
                "left_out": one.left_out,
            }
            for one in found.judged
        ],
        "unresolved": list(found.unresolved),
    }
