"""Results as tables for other tools: Arrow, pandas, polars and Parquet.

    import netstudy

    r = netstudy.open("results/incast/latest")
    r.cells().to_pandas()
    r.samples("iteration").to_arrow()

`open` and the types that it returns are the public names; they are names of `netstudy` itself as
well. pyarrow, pandas and polars are imported when a conversion needs them.
"""

from __future__ import annotations

from netstudy.data.study_data import StudyData, open
from netstudy.data.table import Column, Table
from netstudy.packages import MissingPackageError

__all__ = ["Column", "MissingPackageError", "StudyData", "Table", "open"]
