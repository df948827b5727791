"""The formats that hold readings of a host, not of a load generator."""

from __future__ import annotations

from typing import Final

from netstudy.formats import (
    ethtool,
    ip_link,
    netstat_s,
    nstat,
    proc_net,
    proc_net_dev,
    sadf_json,
    sadf_table,
    sar_text,
    softnet_stat,
    ss,
    tc,
)
from netstudy.formats.measured import Format

OF_HOSTS: Final[tuple[Format, ...]] = (
    sadf_json.FORMAT,
    sadf_table.FORMAT,
    sar_text.FORMAT,
    nstat.FORMAT,
    netstat_s.FORMAT,
    proc_net.FORMAT,
    proc_net_dev.FORMAT,
    ip_link.FORMAT,
    ethtool.FORMAT,
    softnet_stat.FORMAT,
    ss.FORMAT,
    tc.FORMAT,
)
"""In the order of the reference."""
