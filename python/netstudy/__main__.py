"""`python -m netstudy`: the command line where the command itself is not on the PATH."""

from __future__ import annotations

from netstudy.cli import main

if __name__ == "__main__":
    main()
