"""Writes the drawing library that reports contain, from the installed release of vl-convert.

usage: python -m tools.figure_library

Run this after changing the release of vl-convert; a test fails if the library is out of date.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import vl_convert

from netstudy.report.charts.live import LIBRARY, SNIPPET

PATH = Path(__file__).parents[1] / "python/netstudy/report/charts" / LIBRARY


def bundled() -> str:
    """Vega and Vega-Lite in one script, without the parts that reports do not use."""
    script: str = vl_convert.javascript_bundle(SNIPPET)
    return script


def main() -> None:
    """Write the library."""
    argparse.ArgumentParser(prog="python -m tools.figure_library", description=__doc__).parse_args()
    PATH.write_bytes(gzip.compress(bundled().encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
