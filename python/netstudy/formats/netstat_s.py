"""`netstat -s` of Linux's net-tools: the counters of the network stack as sentences.

Each sentence is translated to the kernel's counter, also in the spellings of older versions
("segments retransmited"); a sentence that is not known is left out by name. Newer kernels' counters
come as `TCPTimeouts: 2`. Counters that are 0 are not printed, but for the first groups.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from netstudy.formats.instants import first_line, instant_s
from netstudy.formats.kernel_counters import LEFT_OUT, QUANTITIES, counter_name
from netstudy.formats.measured import FormatError, HostReadings, Quantity
from netstudy.formats.plain_text import text_of
from netstudy.formats.readings import COUNTER_MAX, Readings

_GROUP: Final = re.compile(
    r"(Ip|Icmp|IcmpMsg|Tcp|Udp|UdpLite|TcpExt|IpExt|MPTcpExt|Ip6|Icmp6|Udp6|UdpLite6|Sctp):"
)
_NAMED: Final = re.compile(r"(?P<word>[A-Z]\w+): (?P<value>\d{1,20})", re.ASCII)
_KIND: Final = re.compile(r"(?P<kind>[a-z][a-z ]+): (?P<value>\d{1,20})", re.ASCII)
_NUMBER: Final = re.compile(r"(?<![\w-])\d{1,20}(?![\w-])", re.ASCII)
_HISTOGRAM: Final = re.compile(r"ICMP (input|output) histogram:")
_NOTED: Final = 3
"""The most unknown sentences that a note repeats."""


def _table(text: str) -> dict[str, str]:
    """Sentence, with # for the number -> counter; a line each, and the counter first."""
    pairs = (line.split(maxsplit=1) for line in text.strip().splitlines())
    return {sentence: word for word, sentence in pairs}


_SENTENCES: Final = {
    "Ip": _table("""
        InReceives # total packets received
        InHdrErrors # with invalid headers
        InAddrErrors # with invalid addresses
        ForwDatagrams # forwarded
        InUnknownProtos # with unknown protocol
        InDiscards # incoming packets discarded
        InDelivers # incoming packets delivered
        OutRequests # requests sent out
        OutDiscards # outgoing packets dropped
        OutNoRoutes # dropped because of missing route
        ReasmTimeout # fragments dropped after timeout
        ReasmReqds # reassemblies required
        ReasmOKs # packets reassembled ok
        ReasmFails # packet reassembles failed
        ReasmFails # packet reassemblies failed
        FragOKs # fragments received ok
        FragFails # fragments failed
        FragCreates # fragments created
    """),
    "Icmp": _table("""
        InMsgs # ICMP messages received
        InErrors # input ICMP message failed
        OutMsgs # ICMP messages sent
        OutErrors # ICMP messages failed
    """),
    "Tcp": _table("""
        ActiveOpens # active connection openings
        ActiveOpens # active connections openings
        PassiveOpens # passive connection openings
        AttemptFails # failed connection attempts
        EstabResets # connection resets received
        CurrEstab # connections established
        InSegs # segments received
        OutSegs # segments sent out
        OutSegs # segments send out
        RetransSegs # segments retransmitted
        RetransSegs # segments retransmited
        InErrs # bad segments received
        OutRsts # resets sent
    """),
    "Udp": _table("""
        InDatagrams # packets received
        NoPorts # packets to unknown port received
        InErrors # packet receive errors
        OutDatagrams # packets sent
        RcvbufErrors # receive buffer errors
        SndbufErrors # send buffer errors
    """),
    "TcpExt": _table("""
        SyncookiesSent # SYN cookies sent
        SyncookiesRecv # SYN cookies received
        SyncookiesFailed # invalid SYN cookies received
        EmbryonicRsts # resets received for embryonic SYN_RECV sockets
        PruneCalled # packets pruned from receive queue because of socket buffer overrun
        RcvPruned # packets pruned from receive queue
        OfoPruned # packets dropped from out-of-order queue because of socket buffer overrun
        OutOfWindowIcmps # ICMP packets dropped because they were out-of-window
        LockDroppedIcmps # ICMP packets dropped because socket was locked
        TW # TCP sockets finished time wait in fast timer
        TWRecycled # time wait sockets recycled by time stamp
        TWKilled # TCP sockets finished time wait in slow timer
        PAWSPassive # passive connections rejected because of time stamp
        PAWSActive # active connections rejected because of time stamp
        PAWSEstab # packets rejected in established connections because of timestamp
        PAWSEstab # packets rejects in established connections because of timestamp
        PAWSEstab # packetes rejected in established connections because of timestamp
        DelayedACKs # delayed acks sent
        DelayedACKLocked # delayed acks further delayed because of locked socket
        DelayedACKLost Quick ack mode was activated # times
        ListenOverflows # times the listen queue of a socket overflowed
        ListenDrops # SYNs to LISTEN sockets dropped
        ListenDrops # SYNs to LISTEN sockets ignored
        TCPPrequeued # packets directly queued to recvmsg prequeue
        TCPDirectCopyFromBacklog # bytes directly in process context from backlog
        TCPDirectCopyFromBacklog # of bytes directly received from backlog
        TCPDirectCopyFromPrequeue # bytes directly received in process context from prequeue
        TCPPrequeueDropped # packets dropped from prequeue
        TCPHPHits # packet headers predicted
        TCPHPHits # packets header predicted
        TCPHPHitsToUser # packet headers predicted and directly queued to user
        TCPHPHitsToUser # packets header predicted and directly queued to user
        TCPPureAcks # acknowledgments not containing data payload received
        TCPPureAcks # acknowledgments not containing data received
        TCPHPAcks # predicted acknowledgments
        TCPRenoRecovery # times recovered from packet loss due to fast retransmit
        TCPSackRecovery # times recovered from packet loss by selective acknowledgements
        TCPSackRecovery # times recovered from packet loss due to SACK data
        TCPSACKReneging # bad SACKs received
        TCPSACKReneging # bad SACK blocks received
        TCPFACKReorder Detected reordering # times using FACK
        TCPSACKReorder Detected reordering # times using SACK
        TCPRenoReorder Detected reordering # times using reno fast retransmit
        TCPTSReorder Detected reordering # times using time stamp
        TCPFullUndo # congestion windows fully recovered
        TCPFullUndo # congestion windows fully recovered without slow start
        TCPPartialUndo # congestion windows partially recovered using Hoe heuristic
        TCPDSACKUndo # congestion window recovered using DSACK
        TCPDSACKUndo # congestion windows recovered without slow start by DSACK
        TCPDSACKUndo # congestion windows recovered without slow start using DSACK
        TCPLossUndo # congestion windows recovered after partial ack
        TCPLossUndo # congestion windows recovered without slow start after partial ack
        TCPLoss # TCP data loss events
        TCPRenoFailures # timeouts after reno fast retransmit
        TCPSackFailures # timeouts after SACK recovery
        TCPLossFailures # timeouts in loss state
        TCPFastRetrans # fast retransmits
        TCPForwardRetrans # forward retransmits
        TCPSlowStartRetrans # retransmits in slow start
        TCPTimeouts # other TCP timeouts
        TCPRenoRecoveryFail # reno fast retransmits failed
        TCPRenoRecoveryFail # classic Reno fast retransmits failed
        TCPSackRecoveryFail # sack retransmits failed
        TCPSackRecoveryFail # SACK retransmits failed
        TCPSchedulerFailed # times receiver scheduled too late for direct processing
        TCPRcvCollapsed # packets collapsed in receive queue due to low socket buffer
        TCPDSACKOldSent # DSACKs sent for old packets
        TCPDSACKOfoSent # DSACKs sent for out of order packets
        TCPDSACKRecv # DSACKs received
        TCPDSACKOfoRecv # DSACKs for out of order packets received
        TCPAbortOnSyn # connections reset due to unexpected SYN
        TCPAbortOnData # connections reset due to unexpected data
        TCPAbortOnClose # connections reset due to early user close
        TCPAbortOnMemory # connections aborted due to memory pressure
        TCPAbortOnTimeout # connections aborted due to timeout
        TCPAbortOnLinger # connections aborted after user close in linger timeout
        TCPAbortFailed # times unabled to send RST due to no memory
        TCPAbortFailed # times unable to send RST due to no memory
        TCPMemoryPressures TCP ran low on memory # times
    """),
}
"""Group -> sentence -> counter, as net-tools prints them, with older spellings."""
_SENTENCES["UdpLite"] = _SENTENCES["Udp"]
_ICMP_KINDS: Final = {
    "destination unreachable": "DestUnreachs",
    "timeout in transit": "TimeExcds",
    "wrong parameters": "ParmProbs",
    "source quenches": "SrcQuenchs",
    "source quench": "SrcQuenchs",
    "redirects": "Redirects",
    "redirect": "Redirects",
    "echo requests": "Echos",
    "echo request": "Echos",
    "echo replies": "EchoReps",
    "timestamp requests": "Timestamps",
    "timestamp request": "Timestamps",
    "timestamp replies": "TimestampReps",
    "timestamp reply": "TimestampReps",
    "address mask requests": "AddrMasks",
    "address mask request": "AddrMasks",
    "address mask replies": "AddrMaskReps",
}


@dataclass(frozen=True)
class NetstatS:
    """`netstat -s`; see the module."""

    name: str = "netstat-s"
    title: str = "netstat -s of Linux (net-tools), also several readings in a file"
    quantities: tuple[Quantity, ...] = QUANTITIES
    left_out: tuple[str, ...] = (
        *LEFT_OUT,
        "Sentences of other versions that are not known: each is named in a note.",
    )

    def recognises(self, head: bytes) -> bool:
        """True if the file begins with a group of netstat -s and nothing else in its line."""
        return _GROUP.fullmatch(first_line(head).rstrip()) is not None

    def read(self, data: bytes) -> HostReadings:
        """The readings. Raises FormatError if the file was cut off."""
        text = text_of(data)
        if not text.endswith("\n"):
            raise FormatError(
                "the last line does not end: the file was cut off. Since netstat -s leaves out "
                "counters that are 0, the missing ones would count as 0"
            )
        reader = _Reader()
        for number, line in enumerate(text.splitlines(), 1):
            reader.line(line, f"line {number}")
        counters = reader.readings.counters()
        if not counters:
            raise FormatError("the file has no counters")
        return HostReadings("netstat", counters=counters, notes=reader.notes())


FORMAT: Final = NetstatS()


@dataclass
class _Reader:
    readings: Readings = field(default_factory=lambda: Readings(zeros_left_out=True))
    group: str = ""
    groups: set[str] = field(default_factory=set)
    """Groups of the current reading."""
    direction: str = ""
    """In or Out, under a histogram of ICMP."""
    unknown: list[str] = field(default_factory=list)

    def line(self, line: str, where: str) -> None:
        """Take the next line."""
        text = line.strip()
        at_s = instant_s(line, where)
        if at_s is not None:
            self.readings.instant(at_s)
            self.groups = set()
        elif (match := _GROUP.fullmatch(text)) and not line[:1].isspace():
            self._group(match[1])
        elif match := _HISTOGRAM.fullmatch(text):
            self.direction = "In" if match[1] == "input" else "Out"
        elif text:
            self._counter(text, where)

    def notes(self) -> tuple[str, ...]:
        """The sentences that are not known."""
        if not self.unknown:
            return ()
        shown = "; ".join(f'"{text[:80]}"' for text in self.unknown[:_NOTED])
        more = len(self.unknown) - _NOTED
        rest = f" and {more} more" if more > 0 else ""
        return (f"Left out, since these lines are not known: {shown}{rest}.",)

    def _group(self, group: str) -> None:
        if group in self.groups:
            self.readings.anew()
            self.groups = set()
        self.groups.add(group)
        self.group, self.direction = group, ""

    def _counter(self, text: str, where: str) -> None:
        word, value = self._found(text)
        if word is None or value is None:
            self.unknown.append(text)
            return
        if value > COUNTER_MAX:
            raise FormatError(f"{where}: {value} is not the value of a counter")
        name = counter_name(self.group + word)
        if name is not None and not self.readings.put(name, value):
            raise FormatError(f"{where}: {self.group}{word} is there twice in one reading")

    def _found(self, text: str) -> tuple[str | None, int | None]:
        """The counter of a line and its value; None: the line is not known."""
        if match := _NAMED.fullmatch(text):
            return match["word"], int(match["value"])
        if self.direction and (match := _KIND.fullmatch(text)):
            kind = _ICMP_KINDS.get(match["kind"])
            return (None if kind is None else self.direction + kind), int(match["value"])
        found = _NUMBER.findall(text)
        if len(found) != 1:
            return None, None
        sentence = _NUMBER.sub("#", text).rstrip(".")
        return _SENTENCES.get(self.group, {}).get(sentence), int(found[0])
