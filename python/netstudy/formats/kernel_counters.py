"""Names of the counters of Linux's network stack, as `nstat`, `netstat -s` and /proc/net have them.

The kernel groups its counters (RFC 1213 and its own extensions); `nstat` writes group and name as
one word. A counter is named here by the same words in snake case: `TcpExtListenDrops` becomes
`tcp_ext_listen_drops`, `IpExtInOctets` becomes `ip_ext_in_octets`. There are two exceptions: names
of the group TcpExt that begin with TCP lose the group (`TcpExtTCPLossProbes` becomes
`tcp_loss_probes`), and the two counters that are metrics of netstudy's own hosts have their names
there: `segments_retransmitted` (TcpRetransSegs) and `timeouts` (TcpExtTCPTimeouts).

Counters that a newer kernel adds are named by the same rules. Values that are not cumulative, such
as the number of open connections, are left out.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from netstudy.formats.measured import Better, Quantity

_GROUPS: Final = re.compile(
    r"MPTcpExt|UdpLite6|UdpLite|IcmpMsg|Icmp6|Icmp|TcpExt|IpExt|Udp6|Udp|Tcp|Ip6|Ip|Sctp|Xfrm"
)
"""Groups by which a word of nstat may begin; a longer group comes before its own beginning."""
_STATES: Final = re.compile(
    r"IpForwarding|IpDefaultTTL|(?:Tcp|Sctp)Rto(?:Algorithm|Min|Max|Initial)|TcpMaxConn"
    r"|(?:Tcp|Sctp|MPTcpExtMP)CurrEstab|SctpValCookieLife|SctpMaxInitRetr"
)
"""Settings and levels among the counters."""
_OWN: Final = {
    "TcpRetransSegs": "segments_retransmitted",
    "TcpExtTCPTimeouts": "timeouts",
}
_WORDS: Final = re.compile(
    r"MLDv\d+|[A-Z]{2,}s(?![a-z])|[A-Z]+\d+(?![a-z\d])|[A-Z]+(?=[A-Z][a-z])|[A-Z]+(?![a-z])"
    r"|[A-Z]?[a-z]+\d*|[A-Z]|\d+"
)
"""The words of a name in CamelCase: a capital before a small letter begins a word, but for the
plural of an abbreviation (ACKs)."""
_WORSE: Final = re.compile(
    r"Retrans|Timeout|Drop|Err|Fail|Discard|Overflow|Loss|Lost|Prune|Collapse|NoPorts|Abort|CE$"
)
_LISTED: Final = """
    TcpRetransSegs TcpExtTCPTimeouts TcpInSegs TcpOutSegs TcpActiveOpens TcpPassiveOpens
    TcpAttemptFails TcpEstabResets TcpInErrs TcpOutRsts UdpInDatagrams UdpOutDatagrams UdpNoPorts
    UdpInErrors UdpRcvbufErrors UdpSndbufErrors IpInReceives IpInDelivers IpOutRequests
    IpInDiscards IpOutDiscards IpReasmFails IpExtInOctets IpExtOutOctets IpExtInCEPkts
    TcpExtTCPFastRetrans TcpExtTCPSlowStartRetrans TcpExtTCPLostRetransmit TcpExtTCPLossProbes
    TcpExtTCPLossProbeRecovery TcpExtTCPSackRecovery TcpExtTCPSpuriousRTOs
    TcpExtTCPSpuriousRtxHostQueues TcpExtTCPDSACKRecv TcpExtTCPSACKReorder TcpExtTCPSynRetrans
    TcpExtListenOverflows TcpExtListenDrops TcpExtPruneCalled TcpExtTCPRcvCollapsed
    TcpExtTCPBacklogDrop TcpExtTCPRcvQDrop TcpExtTCPOFOQueue TcpExtTCPFromZeroWindowAdv
    TcpExtTCPToZeroWindowAdv TcpExtTCPWantZeroWindowAdv TcpExtTCPZeroWindowDrop
    TcpExtTCPOrigDataSent TcpExtTCPDelivered TcpExtTCPDeliveredCE TcpExtTCPHystartTrainDetect
    TcpExtTCPHystartDelayDetect TcpExtDelayedACKs
"""
"""The counters by which a slow network is understood, of the 350 or so that a kernel has."""


@cache
def counter_name(word: str) -> str | None:
    """The name of a counter by its word in `nstat`, such as TcpExtTCPTimeouts; None: it is not
    cumulative."""
    if _STATES.fullmatch(word):
        return None
    if word in _OWN:
        return _OWN[word]
    match = _GROUPS.match(word)
    group = match[0] if match else ""
    rest = word.removeprefix(group)
    if group == "TcpExt" and rest.upper().startswith("TCP"):
        group, rest = "Tcp", rest[3:]
    words = (_WORDS.findall(group.replace("MPTcp", "Mptcp")), _WORDS.findall(rest))
    return "_".join(word.lower() for some in words for word in some) or None


def _quantity(word: str) -> Quantity:
    better: Better = "lower" if _WORSE.search(word) else "neither"
    name = counter_name(word)
    assert name is not None, "only counters are listed"
    return Quantity(name, name.replace("_", " "), "", better, 0, f"{word}, as the kernel counts it")


QUANTITIES: Final = tuple(map(_quantity, _LISTED.split()))
LEFT_OUT: Final = (
    "Settings and levels (IpForwarding, IpDefaultTTL, TcpRtoMin, TcpMaxConn, TcpCurrEstab and the "
    "like): they do not count anything.",
)
