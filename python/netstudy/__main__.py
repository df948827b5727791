"""`python -m netstudy`: the command line, even if the command is not on the PATH."""

from __future__ import annotations

from netstudy.cli import main

if __name__ == "__main__":
    main()
