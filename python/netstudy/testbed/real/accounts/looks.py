"""How often an agent looks at its connections."""

from __future__ import annotations

from typing import Final

from netstudy.testbed.real.agent_specs import AgentSpec

_LOOKS_MS: Final = 5
"""Between two looks. A look takes some microseconds for each connection."""
_LOOKED_AT_PER_MS: Final = 4
"""Most connections that an agent looks at in a millisecond, which takes about 1 % of a CPU."""


def looks_interval_ms(spec: AgentSpec) -> int:
    """The time between two looks of an agent at its connections."""
    return max(_LOOKS_MS, -(-len(spec.rows) // _LOOKED_AT_PER_MS))
