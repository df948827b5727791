"""The identities of runs and their seeds: hashes of treatments."""

from __future__ import annotations

import json
from hashlib import sha256

from netstudy.wire import Treatment


def run_id(treatment: str, replicate: int) -> str:
    """12 hexadecimal digits, unique among the runs of the study. `treatment` is canonical text."""
    return digest("run", treatment, replicate)[:12]


def run_seed(treatment: str, replicate: int, seed: int) -> str:
    """16 hexadecimal digits: the seed of all random streams of the run. `treatment` is canonical
    text."""
    return digest("seed", seed, treatment, replicate)[:16]


def canonical(treatment: Treatment) -> str:
    """A treatment as text, independent of the order of its factors."""
    return json.dumps(treatment, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(*parts: object) -> str:
    """SHA-256 of the parts, in hexadecimal."""
    return sha256("\n".join(str(part) for part in parts).encode()).hexdigest()
