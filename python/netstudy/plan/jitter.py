"""From a random delay of a study to the wire."""

from __future__ import annotations

from netstudy import wire
from netstudy.study.jitter import Jitter
from netstudy.study.references import concrete


def wire_jitter(jitter: Jitter) -> wire.Jitter:
    """The distribution of the delay."""
    if jitter.exponential is not None:
        return wire.ExponentialJitter(mean_ns=concrete(jitter.exponential))
    if jitter.uniform is not None:
        return wire.UniformJitter(max_ns=concrete(jitter.uniform))
    return wire.NoJitter()
