"""From a random delay of a study to the wire."""

from __future__ import annotations

from netstudy import wire
from netstudy.study.jitter import Jitter
from netstudy.study.references import concrete


def wire_jitter(jitter: Jitter) -> wire.Jitter:
    """The distribution of the delay. A level of 0 among others is no jitter."""
    if jitter.exponential is not None and (mean_ns := concrete(jitter.exponential)):
        return wire.ExponentialJitter(mean_ns=mean_ns)
    if jitter.uniform is not None and (max_ns := concrete(jitter.uniform)):
        return wire.UniformJitter(max_ns=max_ns)
    return wire.NoJitter()
