"""Fitting figures of a profile to what was measured: by runs of the simulator, and nothing else.

`targets` says what the model has to meet, `model` what it says with other figures, `least_squares`
finds the figures, `profile` writes them with their source and their interval.
"""

from __future__ import annotations

from netstudy.calibration.calibrate import Calibration, Judged, Options, calibrate
from netstudy.calibration.profile import written

__all__ = ["Calibration", "Judged", "Options", "calibrate", "written"]
