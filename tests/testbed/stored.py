"""`python stored.py FOLDER` prints the records in all results folders below a folder, as far as
there are some: first the ones that were set aside, then the ones that count."""

from __future__ import annotations

import sys
from pathlib import Path

from netstudy.store import Results

for folder in Results(Path(sys.argv[1])).folders():
    for run in folder.plan().runs:
        sys.stdout.buffer.writelines(folder.set_aside_texts(run.id))
    sys.stdout.buffer.writelines(folder.record_texts(folder.plan().runs))
