"""Random delays in a study."""

from __future__ import annotations

from typing import Annotated

from pydantic import model_validator

from netstudy import wire
from netstudy.documents.fields import Ref, Typed
from netstudy.documents.shapes import Word, WordFlag
from netstudy.documents.validation import Model, fault
from netstudy.knobs import knobs

Delay = Annotated[int | Ref, Typed(knobs(wire.Link)["delay"].scalar)]
"""nanoseconds."""


class Jitter(Model):
    """A random delay, drawn anew each time: `{exponential: 75 us}`, `{uniform: 20 us}` or
    `none`."""

    exponential: Delay | None = None
    """Mean of an exponential distribution."""
    uniform: Delay | None = None
    """The largest delay of a uniform distribution from 0."""
    none: WordFlag = False
    """No delay."""

    @model_validator(mode="after")
    def _one_kind(self) -> Jitter:
        kinds = [self.exponential is not None, self.uniform is not None, self.none]
        if sum(kinds) != 1:
            raise fault("must be {exponential: 75 us}, {uniform: 20 us} or none")
        return self


JitterOrNone = Annotated[Jitter, Word("none", "a map such as {exponential: 75 us}")]
"""A random delay, or the word `none`."""
