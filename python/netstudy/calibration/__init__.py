"""Fitting figures of profiles to what was measured: by runs of the simulator, and nothing else.

`figures` are what may change, `targets` what the model has to meet, `model` what it says with
other figures. `least_squares` finds them, `lists` where each has a few values that it could have;
`profile` writes them with their source and their interval. `calibrate` is all of that together.
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
from netstudy.calibration.model import Length
from netstudy.calibration.profile import Fitted, written

__all__ = [
    "Calibration",
    "Figure",
    "Fitted",
    "Interval",
    "Judged",
    "Length",
    "Options",
    "around",
    "calibrate",
    "descend",
    "figure_named",
    "figures_of",
    "fits_as_well",
    "library_of",
    "value_of",
    "written",
]
