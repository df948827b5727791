/// TCP counters of a host. If Linux has the same counter, its name in Linux is given first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments sent with payload, SYN or FIN, retransmissions included.
    pub segments_sent: u64,
    /// Segments received with payload, SYN or FIN.
    pub segments_received: u64,
    /// `RetransSegs`: retransmitted segments, for any reason.
    pub segments_retransmitted: u64,
    /// `TCPTimeouts`: expiries of the retransmission timer.
    pub timeouts: u64,
    /// Number of times that fast recovery began (RFC 6675, 5).
    pub fast_recoveries: u64,
    /// `TCPLossProbes`: tail loss probes sent (RFC 8985, 7).
    pub loss_probes: u64,
    /// `TCPLossProbeRecovery`: losses that a tail loss probe repaired.
    pub loss_probe_recoveries: u64,
    /// Number of congestion window reductions that were undone because they turned out to be
    /// unnecessary.
    pub undone_reductions: u64,
    /// Pure acknowledgments sent.
    pub acks_sent: u64,
    /// Acknowledgments received that do not advance `snd_una` while data is outstanding.
    pub duplicate_acks_received: u64,
    /// Acknowledgments received with ECE set (RFC 3168, 6.1.2).
    pub ece_acks_received: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload bytes received in order and handed to the application.
    pub bytes_received: u64,
}

impl Counters {
    /// Counts a sent segment with `bytes` bytes of payload. A SYN or FIN counts with 0 bytes.
    #[inline]
    pub(crate) fn count_sent(&mut self, bytes: u32) {
        self.segments_sent += 1;
        self.bytes_sent += u64::from(bytes);
    }

    /// Adds `other` to each counter.
    pub const fn add(&mut self, other: &Self) {
        self.segments_sent += other.segments_sent;
        self.segments_received += other.segments_received;
        self.segments_retransmitted += other.segments_retransmitted;
        self.timeouts += other.timeouts;
        self.fast_recoveries += other.fast_recoveries;
        self.loss_probes += other.loss_probes;
        self.loss_probe_recoveries += other.loss_probe_recoveries;
        self.undone_reductions += other.undone_reductions;
        self.acks_sent += other.acks_sent;
        self.duplicate_acks_received += other.duplicate_acks_received;
        self.ece_acks_received += other.ece_acks_received;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
    }
}
