"""`netstudy calibrate`: fit figures of profiles to reference data or to measured runs."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from netstudy.cli import _options as options
from netstudy.cli._terminal import print_json, say, show
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.calibration import Calibration, Figure, Judged
    from netstudy.hardware import HardwareLibrary

ValueT = TypeVar("ValueT")

NAME = "calibrate"
EPILOG = (
    "Example: netstudy calibrate studies/trade --profile trade-z9 --fit app_cpu,database_cpu "
    "--choose database_slots=6,8,10 --without app.cycles_per_instruction"
)


def command(
    study: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY", help="A study with reference data, or a results folder of real runs."
        ),
    ],
    fit: Annotated[
        str,
        typer.Option(
            "--fit",
            metavar="FIGURES",
            help="Figures to fit: a,b,PROFILE:cpu.c. May be empty, to fit none.",
        ),
    ] = "",
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile", help="The profile of the figures that are named without a profile."
        ),
    ] = None,
    choose: Annotated[
        list[str] | None,
        typer.Option(
            "--choose",
            metavar="NAME=VALUES",
            help="Values to try for a figure, or for a key of the study given by its path.",
        ),
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            "--on", metavar="METRICS", help="For measured runs: metrics to fit, such as etr_per_s."
        ),
    ] = "",
    only: options.Only = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            "--tolerance",
            metavar="METRIC=NUMBER",
            help="Allowed error of the model, in the metric's unit or in %. [default: 1 %]",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", metavar="METRIC", help="Metrics to ignore."),
    ] = None,
    rounds: Annotated[
        int, typer.Option("--rounds", min=1, help="Maximum number of rounds of the search.")
    ] = 12,
    warmup: Annotated[
        str, typer.Option("--warmup", help="Simulated time of each run before it is measured.")
    ] = "2 s",
    measure: Annotated[
        str, typer.Option("--measure", help="Measured simulated time of each run.")
    ] = "20 s",
    replicates: Annotated[
        int, typer.Option("--replicates", min=1, help="Number of simulated runs of each row.")
    ] = 1,
    overrides: options.Set = None,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            metavar="PATH",
            help="Write the fitted profile: to this file, or as PROFILE.yaml into this folder.",
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option("--threads", min=1)] = None,
    json: options.Json = False,
) -> None:
    """Fit figures of profiles to a study's reference data or to measured runs, by the simulator.

    Rows that the list `fitted` of their reference does not name are never fitted: their values are
    predicted. The leave-one-out column has the model's value for a row when fitted
    to the rows of all other runs. All candidates use the same random numbers; the result is shown
    with different ones. --rounds 1 only judges the figures as they are.
    """
    from netstudy.calibration import Length, Options, calibrate, figures_of, library_of
    from netstudy.cli._prepare import pairs
    from netstudy.store import Folder
    from netstudy.study import apply_overrides, load, parse_only

    measured = Folder.at(study)
    known = load(study) if measured is None else measured.study()
    known = apply_overrides(known, pairs(overrides or (), "--set"))
    if (measured is None) == bool(on):
        raise StudyError(
            "is for measured runs: give a results folder with --on, or a study without --on", "--on"
        )
    in_percent = [text for text in tolerance or () if text.endswith("%")]
    in_units = [text for text in tolerance or () if not text.endswith("%")]
    length = Length(_seconds("--warmup", warmup), _seconds("--measure", measure), replicates)
    if not length.measure_s:
        raise StudyError(f"{measure} measures nothing; write a time such as 20 s", "--measure")
    asked = Options(
        figures=_names(fit),
        choices=_once("--choose", map(_choice, choose or ())),
        tolerances=_once("--tolerance", map(_number, in_units)),
        shares=_once("--tolerance", map(_share, in_percent)),
        left_out=frozenset(without or ()),
        metrics=_names(on),
        only=parse_only(only or (), known),
        rounds=rounds,
        length=length,
        threads=threads,
    )
    # A calibration takes minutes, so a path that cannot be written is refused before it begins.
    if write is not None:
        _check_writable(write, figures_of(asked, library_of(known, measured), profile))
    found = calibrate(known, profile, asked, measured)
    if json:
        print_json(_data(found))
    else:
        for line in _lines(found):
            show(line)
    if write is not None:
        command = _command(
            study,
            {
                "--profile": profile,
                "--fit": fit,
                "--choose": choose,
                "--on": on,
                "--only": only,
                "--tolerance": tolerance,
                "--without": without,
                "--set": overrides,
                "--rounds": str(rounds),
                "--warmup": warmup,
                "--measure": measure,
                "--replicates": str(replicates),
            },
        )
        _write(write, library_of(known, measured), found, command)


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _check_writable(path: Path, figures: Mapping[str, Figure]) -> None:
    """Raises StudyError if the profiles of these figures cannot be written to this path; called
    before anything is simulated."""
    from netstudy.documents.problems import listed

    profiles = list(dict.fromkeys(figure.profile for figure in figures.values()))
    if not profiles:
        raise StudyError(
            "no figure of a profile is fitted or chosen, so there is nothing to write", "--write"
        )
    if len(profiles) > 1 and not path.is_dir():
        raise StudyError(
            f"{path} is not a folder, but {listed(profiles)} need one file each; name a folder",
            "--write",
        )
    for target in _files(path, profiles).values():
        if not target.parent.is_dir():
            raise StudyError(f"there is no folder {target.parent} for {target.name}", "--write")
        if target.is_dir() or not os.access(target.parent, os.W_OK):
            raise StudyError(f"{target} cannot be written", "--write")


def _files(path: Path, profiles: Iterable[str]) -> dict[str, Path]:
    """Profile -> the file to write it to."""
    return {name: path / f"{name}.yaml" if path.is_dir() else path for name in profiles}


def _write(path: Path, library: HardwareLibrary, found: Calibration, source: str) -> None:
    """Write the profiles that have fitted figures to this file, or into this folder. Raises
    StudyError if the fitted values are only right together with undetermined ones."""
    from netstudy.calibration import written
    from netstudy.documents.problems import listed
    from netstudy.store import write_atomic

    if found.moved:
        raise StudyError(
            f"nothing is written: the fitted values hold only with the values above of "
            f"{listed(found.moved)}, which the data do not determine; fit fewer figures",
            "--write",
        )
    fitted = found.fitted(source)
    left = [name for group in found.undetermined for name in group if name in found.figures]
    if not fitted:
        raise StudyError(f"nothing is written: the data do not determine {listed(left)}", "--write")
    for name, target in _files(path, {figure.profile: None for figure in fitted}).items():
        file = library.file(name)
        assert file is not None, "its figures were found"
        try:
            write_atomic(target, written(file, fitted))
        except OSError as error:
            raise StudyError(f"{target}: {error.strerror}", "--write") from None
    if left:
        say(f"unchanged in the profile: {listed(left)}")


def _command(study: Path, given: Mapping[str, str | list[str] | None]) -> str:
    """The command that repeats the calibration; the profile has it as the source of the fitted
    figures."""
    words = ["netstudy", NAME, str(study)]
    for option, value in given.items():
        for one in [value] if isinstance(value, str) else value or ():
            words += [option, one] if one else []
    return shlex.join(words)


def _choice(text: str) -> tuple[str, tuple[str, ...]]:
    name, given, values = text.partition("=")
    found = _names(values)
    if not given or not found:
        raise StudyError(f"--choose {text}: write NAME=VALUES, such as database_slots=6,8")
    return name.strip(), found


def _seconds(option: str, text: str) -> float:
    from netstudy.units import parse_duration

    try:
        return parse_duration(text) / 1e9
    except ValueError as error:
        raise StudyError(str(error), option) from None


def _share(text: str) -> tuple[str, float]:
    name, percent = _number(text)
    return name, percent / 100


def _number(text: str) -> tuple[str, float]:
    name, given, value = text.rpartition("=")
    try:
        number = float(value.removesuffix("%"))
    except ValueError:
        number = math.nan
    if not given or math.isnan(number):
        raise StudyError(
            f"--tolerance {text}: write METRIC=NUMBER, such as response_ms_mean=0.5 or etr_per_s=2%"
        )
    if not 0 < number < math.inf:
        raise StudyError(f"--tolerance {text}: a tolerance is a finite number above 0")
    return name.strip(), number


def _once(option: str, pairs: Iterable[tuple[str, ValueT]]) -> dict[str, ValueT]:
    """The values by name. Raises StudyError if a name is given twice, because one of its values
    would be ignored."""
    found: dict[str, ValueT] = {}
    for name, value in pairs:
        if name in found:
            raise StudyError(f"{name} is given twice; give it once", option)
        found[name] = value
    return found


def _lines(found: Calibration) -> Iterator[str]:
    yield f"sum of squares {found.cost:.1f}"
    for choice, cost in found.costs.items() if len(found.costs) > 1 else ():
        yield f"tried {choice}: {cost:.1f}"
    for name, text in found.chosen.items():
        yield f"{name}: {text} ({found.as_good[name].low} to {found.as_good[name].high})"
    for name, value in found.values.items():
        figure = found.figures[name]
        yield f"{figure.profile} {figure.name}: {figure.written(value)} ({_interval(found, name)})"
    for group in found.undetermined:
        yield _undetermined(group)
    yield ""
    for one in found.judged:
        yield _row(one)
    yield from found.unresolved


def _interval(found: Calibration, name: str) -> str:
    if name not in found.intervals:
        return "no interval"
    low, high = (found.figures[name].written(end) for end in found.intervals[name])
    return f"{low} to {high}"


def _undetermined(group: Sequence[str]) -> str:
    from netstudy.documents.problems import listed

    if len(group) == 1:
        return f"the data do not determine {group[0]}: no fitted value changes with it"
    return f"the data cannot distinguish {listed(group)}: fit fewer of them"


def _row(one: Judged) -> str:
    target = one.target
    if target.predicted:
        without = "predicted"
    elif one.left_out is None:
        without = "fitted; too few other rows to leave it out"
    else:
        without = f"left out {one.left_out:.4g}"
    percent = f" ({100 * one.error / target.value:+.1f} %)" if target.value else ""
    return (
        f"{target.row} {target.metric}: measured {target.value:.4g}, simulated "
        f"{one.simulated:.4g}, error {one.error:+.3g}{percent}, {without}"
    )


def _data(found: Calibration) -> dict[str, Any]:
    return {
        "values": dict(found.values),
        "intervals": {name: list(ends) for name, ends in found.intervals.items()},
        "undetermined": [list(group) for group in found.undetermined],
        "chosen": dict(found.chosen),
        "as_good": {name: [one.low, one.high] for name, one in found.as_good.items()},
        "sum_of_squares": found.cost,
        "tried": dict(found.costs),
        "rows": _rows(found.judged),
        "unresolved": list(found.unresolved),
    }


def _rows(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    return [
        {
            "row": one.target.row,
            "treatment": dict(one.target.treatment),
            "metric": str(one.target.metric),
            "measured": one.target.value,
            "simulated": one.simulated,
            "predicted": one.target.predicted,
            "left_out": one.left_out,
        }
        for one in judged
    ]
