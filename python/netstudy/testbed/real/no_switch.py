"""A run in which no program is a switch, and no switch is read."""

from __future__ import annotations

from netstudy.testbed.real.evidence import KernelSwitch, SwitchEvidence


class NoSwitch:
    """No switch, as a RunSwitch: links lead from host to host, or through a switch that is not
    read."""

    process = None

    async def snapshot(self, name: str) -> None:
        """See RunSwitch.snapshot: there is nothing to read."""

    async def stop(self) -> SwitchEvidence:
        """See RunSwitch.stop."""
        return KernelSwitch({})
