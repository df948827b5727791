"""Fits figures of profiles to measured values, using only runs of the simulator.

`figures` has the figures that may change, `targets` the measured values, `model` the simulated
values for given figures. `least_squares` fits figures, `lists` chooses among a few values of each;
`profile` writes them with their source and their interval. `calibrate` combines all of these.
"""

from __future__ import annotations

from netstudy.calibration.calibrate import (
    Calibration,
    Judged,
    Options,
    calibrate,
    figures_of,
    library_of,
)
from netstudy.calibration.figures import Figure, figure_named, value_of
from netstudy.calibration.lists import Interval, around, descend, fits_as_well
from netstudy.calibration.model import Length, Model, Shown, Trial, simulated
from netstudy.calibration.profile import Fitted, written
from netstudy.calibration.targets import Target, published_targets

__all__ = [
    "Calibration",
    "Figure",
    "Fitted",
    "Interval",
    "Judged",
    "Length",
    "Model",
    "Options",
    "Shown",
    "Target",
    "Trial",
    "around",
    "calibrate",
    "descend",
    "figure_named",
    "figures_of",
    "fits_as_well",
    "library_of",
    "published_targets",
    "simulated",
    "value_of",
    "written",
]
