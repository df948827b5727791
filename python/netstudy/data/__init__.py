"""Results as tables for other tools: Arrow, pandas, polars and Parquet.

    import netstudy

    r = netstudy.run("studies/incast", quick=True)  # or netstudy.open("results/incast/latest")
    r.cells().to_pandas()
    r.replicates().to_pandas()
    r.samples("iteration").to_arrow()
    r.samples("time").to_polars()
    [one for one in r.verdicts if one.outcome == "different"]

`run`, `open` and the types that they return are public; they can also be imported from `netstudy`.
pyarrow, pandas and polars are imported when a conversion needs them.
"""

from __future__ import annotations

from netstudy.data.running import run
from netstudy.data.study_data import StudyData, open
from netstudy.data.table import Column, Table
from netstudy.data.verdicts import Verdict
from netstudy.packages import MissingPackageError

__all__ = ["Column", "MissingPackageError", "StudyData", "Table", "Verdict", "open", "run"]
