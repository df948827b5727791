"""`python -m tests.testbed.go_on FOLDER` carries out what a folder lacks, and tries nothing before.

`netstudy run` does the same once it has found that the machine carries the study.
"""

from __future__ import annotations

import sys
from pathlib import Path

from netstudy.cli.run import Manner, complete
from netstudy.store import Folder
from netstudy.testbed import named

if __name__ == "__main__":
    folder = Folder(Path(sys.argv[1]))
    manner = Manner(folder.path.parents[1], threads=None, json=False)
    sys.exit(complete(folder, named(folder.invocation().testbed), manner))
