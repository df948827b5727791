"""Calibrates figures of profiles: fits them, computes leave-one-out values, and finds figures that
the data do not determine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from netstudy.analysis.workloads import RELATIVE
from netstudy.calibration.figures import FIGURES, Figure, figure_named, value_of
from netstudy.calibration.least_squares import ROUNDING, Fit, Floats, fit
from netstudy.calibration.lists import Interval, descend
from netstudy.calibration.model import Length, Model, Trial
from netstudy.calibration.profile import Fitted
from netstudy.calibration.targets import Target, measured_targets, published_targets
from netstudy.documents.nearest import did_you_mean
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary
from netstudy.plan_lines import RUN
from netstudy.study import Study, level_text
from netstudy.study.vocabulary import MetricName
from netstudy.units import parse_scale

if TYPE_CHECKING:
    from netstudy.store import Folder
    from netstudy.wire import Level

STEP_SHARE = 0.08
"""How far a figure is changed to measure its effect in the fit (finite differences), as a share of
the figure's value."""
STEP_LEAST = {"_ns": 50_000.0, "_ppm": 3_000.0}
"""The smallest such change for an application's times (50 us) and shares (0.3 %): the effect of a
smaller one would be lost in the simulation's noise."""
_CHI_SQUARED_95 = 3.84
"""The 95 % quantile of the chi-squared distribution with one degree of freedom."""

Choices = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Options:
    """Options of a calibration."""

    figures: tuple[str, ...]
    """The figures to fit: keys of the profile, or `PROFILE:FIGURE` for another profile."""
    choices: Choices = field(default_factory=dict)
    """Figure, or path of a key in the study -> the values to try."""
    tolerances: Mapping[str, float] = field(default_factory=dict)
    """Metric -> allowed error of the model, in the metric's unit."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """Metric -> allowed error as a share of the value. If a metric is in both, the larger error is
    allowed."""
    share: float = 0.01
    """The share for metrics that are neither in `tolerances` nor in `shares`."""
    left_out: frozenset[str] = frozenset()
    """Metrics to ignore."""
    metrics: tuple[str, ...] = ()
    """The metrics of measured runs that are fitted; not used with published values."""
    only: Mapping[str, Sequence[Level]] = field(default_factory=dict)
    """Factor -> the levels whose rows are used."""
    relative: frozenset[str] = RELATIVE
    """Metrics whose values are in percent of a base row. The value of the base row is not measured;
    it is fitted, separately for each file."""
    rounds: int = 12
    length: Length = field(default_factory=Length)
    threads: int | None = None


@dataclass(frozen=True)
class Judged:
    """A target, and its value in the fitted model."""

    target: Target
    simulated: float
    """The model's value, simulated with other random numbers than in the fit."""
    left_out: float | None
    """The model's value if the rows of this run are left out of the fit. None: the row was not
    fitted, or there are too few other rows."""

    @property
    def error(self) -> float:
        """Simulated minus measured."""
        return self.simulated - self.target.value


@dataclass(frozen=True)
class Calibration:
    """The result of a calibration."""

    figures: Mapping[str, Figure]
    """The requested figures, by their names in the options."""
    values: Mapping[str, float]
    """The fitted values, with the same names, in the smallest unit."""
    intervals: Mapping[str, tuple[float, float]]
    """The 95 % interval of each fitted value that the data determine, by the same names."""
    undetermined: tuple[tuple[str, ...], ...]
    """Groups of figures and keys that the data do not determine. In a group of one, the figure has
    no effect on the fitted metrics; in a larger group, changes of the figures cancel each other."""
    moved: tuple[str, ...]
    """Undetermined figures whose values the fit changed. All other fitted values are only right
    together with these."""
    chosen: Mapping[str, str]
    as_good: Mapping[str, Interval]
    """For each choice, the lowest and the highest of the tried values that fit about as well as the
    chosen one."""
    cost: float
    """Sum of the squares of the residuals ÷ tolerance."""
    costs: Mapping[str, float]
    """Combination of choices, as text -> its cost; for all combinations that were tried."""
    judged: tuple[Judged, ...]
    unresolved: tuple[str, ...]
    """Sentences on differences between measured rows that are smaller than the model's error."""

    def fitted(self, source: str) -> dict[Figure, Fitted]:
        """The new values of figures for profiles; undetermined figures are left out."""
        found = {}
        undetermined = {name for group in self.undetermined for name in group}
        for name in self.intervals:
            figure, value = self.figures[name], self.values[name]
            low, high = (figure.rounded(end) for end in self.intervals[name])
            found[figure] = Fitted(figure.rounded(value), Interval(low, high), source)
        for name, text in self.chosen.items():
            if name in self.figures and name not in undetermined:
                figure, good = self.figures[name], self.as_good[name]
                ends = Interval(figure.read(good.low), figure.read(good.high))
                found[figure] = Fitted(figure.read(text), ends, source)
        return found


def calibrate(
    study: Study, profile: str | None, options: Options, measured: Folder | None = None
) -> Calibration:
    """Fit figures of profiles to the study's reference data, or to measured runs.

    `profile` is the profile of all figures whose names have no profile.
    """
    return _Calibrator.of(study, profile, options, measured).found()


def library_of(study: Study, measured: Folder | None = None) -> HardwareLibrary:
    """The shared profiles and the profiles in the study's folder. For measured runs, the study's
    folder is the one from which it was run, if that still exists."""
    if measured is None:
        return HardwareLibrary.default(study.folder)
    named = Path(measured.invocation().study)
    return HardwareLibrary.default(named if named.is_dir() else named.parent)


def figures_of(
    options: Options, library: HardwareLibrary, profile: str | None
) -> dict[str, Figure]:
    """The figures to fit or to choose, by their names in the options. Raises StudyError if a
    figure is unknown or named twice."""
    chosen = (name for name in options.choices if ":" in name or "." not in name)
    found: dict[str, Figure] = {}
    for name in (*options.figures, *chosen):
        figure = figure_named(library, name, profile)
        if figure in found.values():
            raise StudyError(
                f"the figure {figure.name} of {figure.profile} is named twice; name it once, to "
                "fit it or to choose its value"
            )
        found[name] = figure
    return found


@dataclass(frozen=True)
class _Calibrator:
    """A calibration in progress."""

    model: Model
    options: Options
    figures: Mapping[str, Figure]
    """The figures to fit or to choose."""
    targets: tuple[Target, ...]
    _fits: dict[tuple[str, ...], Fit] = field(default_factory=dict, repr=False)
    """Combination of chosen values -> its fit, so that no combination is fitted twice."""

    @classmethod
    def of(
        cls, study: Study, profile: str | None, options: Options, measured: Folder | None
    ) -> _Calibrator:
        """Prepares the calibration and checks the options; nothing is simulated yet. Raises
        StudyError for wrong options."""
        scale = None if measured is None else measured.invocation().scale
        model = Model(
            study,
            library_of(study, measured),
            options.length,
            parse_scale(scale or 1),
            options.threads,
        )
        figures = figures_of(options, model.library, profile)
        _refuse_single(options.choices)
        planned = model.planned()
        if measured is None:
            known = published_targets(study, planned)
        else:
            known = measured_targets(measured, planned, options.metrics)
        # A tolerance for a metric that is left out would have no effect. Therefore tolerances are
        # checked against the remaining targets only.
        _refuse_unknown(options.left_out, known, "--without")
        targets = tuple(
            one
            for one in known
            if str(one.metric) not in options.left_out and _is_in(one, options.only)
        )
        _refuse_unknown([*options.tolerances, *options.shares], targets, "--tolerance")
        free = len(options.figures)
        values = sum(not one.predicted for one in targets)
        if values < max(free, 1):
            raise StudyError(f"{values} values cannot determine {free} figures")
        found = cls(model, options, figures, targets)
        found._refuse_without_tolerance()
        found._refuse_without_effect()
        return found

    def found(self) -> Calibration:
        """Fit the figures for each tried combination of choices, and judge the best fit."""
        choices = self.options.choices
        begin = {name: texts[0] for name, texts in choices.items()}
        chosen = descend(choices, begin, lambda chosen: self._fit(chosen).cost)
        best = self._fit(chosen)
        judged = self._judged(best, chosen)
        names = self.options.figures
        widths = zip(names, best.values, best.half_widths, strict=True)
        groups = [tuple(names[index] for index in group) for group in best.undetermined]
        values = dict(zip(names, map(float, best.values), strict=True))
        # A choice without effect is listed as an undetermined group of one. Larger groups of
        # choices cannot be found, since each choice is varied with all others unchanged.
        return Calibration(
            figures=self.figures,
            values=values,
            intervals={
                name: (max(0.0, float(value - width)), float(value + width))
                for name, value, width in widths
                if np.isfinite(width)
            },
            undetermined=(*groups, *((name,) for name in choices if self._is_idle(name, chosen))),
            moved=tuple(
                name for group in groups for name in group if values[name] != self._start(name)
            ),
            chosen=chosen,
            as_good={name: self._as_good(name, chosen) for name in choices},
            cost=best.cost,
            costs={_words(choices, key): one.cost for key, one in self._fits.items()},
            judged=judged,
            unresolved=tuple(dict.fromkeys(_unresolved(judged))),
        )

    def _refuse_without_tolerance(self) -> None:
        """Raises StudyError for a value with a tolerance of 0, which no model can meet."""
        for one in self.targets:
            if self._tolerance(one) == 0:
                raise StudyError(
                    f"{one.metric} is {one.value:g} at {one.row}, so a share of it is 0: "
                    f"give the allowed error of the model with --tolerance {one.metric}=NUMBER"
                )

    def _refuse_without_effect(self) -> None:
        """Raises StudyError for a figure without an effect, because no fitted run takes it from the
        profile."""
        keys = {name: texts[0] for name, texts in self.options.choices.items()}
        keys = {name: text for name, text in keys.items() if name not in self.figures}
        for name, figure in self.figures.items():
            runs = {
                self._runs_fitted_to(Trial({figure: value}, keys))
                for value in self._two_values(name)
            }
            if len(runs) == 1:
                raise StudyError(_without_effect(figure, self.model.study_with(keys)))

    def _two_values(self, name: str) -> list[float]:
        """Two different values that a figure may take."""
        figure = self.figures[name]
        if name in self.options.choices:
            return list(dict.fromkeys(map(figure.read, self.options.choices[name])))[:2]
        now = self._start(name)
        return [now, now + _step(figure, now)]

    def _runs_fitted_to(self, trial: Trial) -> tuple[str, ...]:
        wanted = {one.run for one in self._fitted_to}
        runs = self.model.plan_with(trial, self.model.seed).runs
        return tuple(RUN.dump_json(run).decode() for run in runs if run.id in wanted)

    @property
    def _fitted_to(self) -> list[Target]:
        return [one for one in self.targets if not one.predicted]

    def _fit(self, chosen: Mapping[str, str]) -> Fit:
        key = tuple(chosen.values())
        if key not in self._fits:
            self._fits[key] = self._least_squares(chosen)
        return self._fits[key]

    def _least_squares(self, chosen: Mapping[str, str]) -> Fit:
        fitted = [self.figures[name] for name in self.options.figures]
        start = [self._start(name) for name in self.options.figures]
        targets = self._fitted_to
        tolerances = np.array([self._tolerance(one) for one in targets])
        wanted = np.array([one.value for one in targets])

        def residuals(values: Floats) -> Floats:
            said = self._said(targets, values, chosen, self.model.seed)
            return np.asarray((wanted - said) / tolerances)

        return fit(residuals, start, [*map(_step, fitted, start)], self.options.rounds)

    def _start(self, name: str) -> float:
        return value_of(self.model.library, self.figures[name])

    def _tolerance(self, target: Target) -> float:
        options, metric = self.options, str(target.metric)
        usual = 0.0 if metric in options.tolerances else options.share
        own = options.tolerances.get(metric, 0.0)
        return target.tolerance(own, options.shares.get(metric, usual))

    def _said(
        self, targets: Sequence[Target], values: Floats, chosen: Mapping[str, str], seed: int
    ) -> Floats:
        """The simulated value of each target. All values of a relative metric in a file have the
        same base. It is found by least squares over the file's fitted rows, or over all its rows if
        none is fitted."""
        names = self.options.figures
        trial = Trial(
            {self.figures[name]: float(value) for name, value in zip(names, values, strict=True)}
            | {
                self.figures[name]: self.figures[name].read(text)
                for name, text in chosen.items()
                if name in self.figures
            },
            {name: text for name, text in chosen.items() if name not in self.figures},
        )
        found = self.model.predict(trial, ((one.run, one.metric) for one in targets), seed)
        said = np.array([found[one.run, one.metric] for one in targets])
        wanted = np.array([one.value for one in targets])
        tolerances = np.array([self._tolerance(one) for one in targets])
        is_fitted = np.array([not one.predicted for one in targets])
        for every in self._bases(targets):
            of_base = every & is_fitted if np.any(every & is_fitted) else every
            own, aim = said[of_base] / tolerances[of_base], wanted[of_base] / tolerances[of_base]
            said[every] *= (aim @ own) / (own @ own)
        return said

    def _judged(self, best: Fit, chosen: Mapping[str, str]) -> tuple[Judged, ...]:
        said = self._said(self.targets, best.values, chosen, self.model.fresh_seed)
        left_out = self._left_out(best)
        return tuple(
            Judged(one, float(value), left_out.get((one.row, one.metric)))
            for one, value in zip(self.targets, said, strict=True)
        )

    def _left_out(self, best: Fit) -> dict[tuple[str, MetricName], float]:
        """Row and metric -> the model's value if the rows of this run are left out of the fit.
        Entries are missing if the remaining rows are too few for a fit. If two files have rows of
        the same run, the rows of both are left out."""
        found = {}
        targets = self._fitted_to
        tolerances = np.array([self._tolerance(one) for one in targets])
        said = np.array([one.value for one in targets]) - best.residuals * tolerances
        groups = self._bases(targets)
        # If a base changes by a share, all metrics in percent of it change by that share.
        bases = -np.where(groups, said / tolerances, 0.0).T
        for run in dict.fromkeys(one.run for one in targets):
            is_of = np.array([one.run == run for one in targets])
            known = np.any(groups[:, ~is_of], axis=1)
            if np.sum(~is_of) < best.values.size + np.sum(known):
                continue
            shared = bases[:, known]
            lacking = np.any(groups[~known], axis=0)
            own = np.flatnonzero(is_of)
            for at, residual in zip(own, best.without(is_of, shared), strict=True):
                if not lacking[at]:
                    one = targets[at]
                    found[one.row, one.metric] = float(one.value - residual * tolerances[at])
        return found

    def _bases(self, targets: Sequence[Target]) -> NDArray[np.bool_]:
        """One row for each base of relative metrics; each element says whether that target is in
        percent of this base."""
        of = [
            (one.file, one.metric) if str(one.metric) in self.options.relative else None
            for one in targets
        ]
        bases = [base for base in dict.fromkeys(of) if base is not None]
        found = np.array([[base == one for one in of] for base in bases], dtype=bool)
        return found.reshape(len(bases), len(targets))

    def _is_idle(self, name: str, chosen: Mapping[str, str]) -> bool:
        """Whether all values of a choice give the same residuals, with the other choices
        unchanged."""
        tried = [self._fit({**chosen, name: text}) for text in self.options.choices[name]]
        return all(np.allclose(one.residuals, tried[0].residuals, 0.0, ROUNDING) for one in tried)

    def _as_good(self, name: str, chosen: Mapping[str, str]) -> Interval:
        """The lowest and the highest value that fit as well as the chosen one, by a
        likelihood-ratio test at 95 %, with all other choices unchanged. Keys of the study are in
        the order of the option."""
        best = self._fit(chosen)
        reach = _CHI_SQUARED_95 * best.scatter
        good = [
            text
            for text in self.options.choices[name]
            if self._fit({**chosen, name: text}).cost <= best.cost + reach
        ]
        if name in self.figures:
            good.sort(key=self.figures[name].read)
        return Interval(good[0], good[-1])


def _without_effect(figure: Figure, study: Study) -> str:
    name, profile = figure.name, figure.profile
    parts = {part: study.document.data.get(part) for part in ("topology", "workload")}
    paths = [
        ".".join(path)
        for path in _paths_of(figure.knob.name, parts)
        if figure.section == path[-2] or (figure.section == FIGURES and "link" not in path[-2])
    ]
    if paths:
        said = f"the study sets {figure.knob.name} itself, at {' and '.join(paths)}"
        return f"{name} of {profile} changes none of the fitted runs: {said}; remove that setting"
    return (
        f"{name} of {profile} changes none of the fitted runs; fit a figure of a profile that "
        "these runs use"
    )


def _paths_of(key: str, data: object, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of all keys with this name in a document."""
    if isinstance(data, Mapping):
        for name, value in data.items():
            if name == key:
                yield (*above, name)
            yield from _paths_of(key, value, (*above, name))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _paths_of(key, value, (*above[:-1], f"{above[-1]}[{index}]"))


def _refuse_single(choices: Choices) -> None:
    for name, texts in choices.items():
        if len(set(texts)) < len(texts) or len(texts) < 2:
            raise StudyError(f"{name}: a choice needs at least two different values", "--choose")


def _refuse_unknown(metrics: Iterable[str], targets: Sequence[Target], option: str) -> None:
    """Raises StudyError for a metric without a target: the option would have no effect."""
    known = dict.fromkeys(str(one.metric) for one in targets)
    for metric in metrics:
        if metric not in known:
            hint = did_you_mean(metric, known)
            raise StudyError(f'no target has the metric "{metric}"{hint}', option)


def _is_in(target: Target, only: Mapping[str, Sequence[Level]]) -> bool:
    return all(target.treatment.get(name) in levels for name, levels in only.items())


def _words(choices: Choices, texts: Sequence[str]) -> str:
    return ", ".join(f"{n} {t}" for n, t in zip(choices, texts, strict=True)) or "as it is"


def _step(figure: Figure, value: float) -> float:
    least = 1.0
    if figure.section == FIGURES:
        unit = next((unit for unit in STEP_LEAST if figure.knob.wired.endswith(unit)), "")
        least = STEP_LEAST.get(unit, least)
    return max(STEP_SHARE * value, least)


def _unresolved(judged: Sequence[Judged]) -> Iterator[str]:
    """One sentence for each pair of rows that differ in a single factor, if a metric differs
    between them by less than the model's error."""
    for metric in dict.fromkeys(one.target.metric for one in judged):
        own = [one for one in judged if one.target.metric == metric and not one.target.predicted]
        errors = [one.error / one.target.value for one in own if one.target.value]
        resolution = 2 * float(np.sqrt(np.mean(np.square(errors)))) if errors else 0.0
        for one, other in combinations(own, 2):
            factor = _only_difference(one.target, other.target)
            if factor is None or one.target.file != other.target.file or not one.target.value:
                continue
            change = other.target.value / one.target.value - 1
            if abs(change) < resolution:
                levels = " and ".join(
                    level_text(each.target.treatment[factor]) for each in (one, other)
                )
                yield (
                    f"{metric} at {factor} {levels} differs by {100 * abs(change):.1f} %, below "
                    f"the model's resolution of {100 * resolution:.1f} %"
                )


def _only_difference(one: Target, other: Target) -> str | None:
    names = one.treatment.keys() | other.treatment.keys()
    unlike = [name for name in names if one.treatment.get(name) != other.treatment.get(name)]
    return unlike[0] if len(unlike) == 1 else None
