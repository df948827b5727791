"""Prints as JSON the words before a command that make it run in a sandbox of this user."""

from __future__ import annotations

import json

from netstudy.testbed.netns.sandbox import sandbox_command

if __name__ == "__main__":
    print(json.dumps(sandbox_command(())))
