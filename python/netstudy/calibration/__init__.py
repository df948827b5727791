"""Fits figures of profiles to measured values; only the simulator is used for this.

The module `figures` has the figures that may be fitted, `targets` the measured values, and `model`
simulates a study with given figures. `least_squares` fits figures that can have any value, `lists`
figures that are chosen from a few values; `profile` writes them into profiles, with source and
interval. `calibrate` combines all of these.
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
