//! TCP small queues: a connection holds back new packets while too much of its own data waits in
//! the sending host (`net/ipv4/tcp_output.c` of Linux: `tcp_small_queue_check`, `tcp_wfree`,
//! `tcp_tsq_write`).
//!
//! The data waits in packets. These are the units that the kernel hands to the interface: bursts of
//! segmentation offload, or single segments. A packet occupies memory from the moment it is handed
//! over until its last frame has left the host. While the packets occupy at least as much memory as
//! the limit, TCP keeps the next packet until one of them has left.
//!
//! An endpoint does not know the network interface of its host. The caller reports when each
//! segment will have left the host, either immediately ([`Endpoint::handed_over`]) or later
//! ([`Endpoint::handle_departure`]).

use alloc::boxed::Box;

use netstudy_ring::Ring;
use netstudy_units::Time;

use super::{Config, Endpoint};

/// Memory of a packet without its payload: `struct sk_buff`, 320 bytes for headers
/// (`MAX_TCP_HEADER`), and `struct skb_shared_info` on a machine of 64 bits (`SKB_TRUESIZE` in
/// `tcp_stream_alloc_skb`).
const OVERHEAD_BYTES: u64 = 256 + 320 + 320;

/// A packet that has not left its host yet.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    /// The latest known departure time of the packet's frames.
    left_at: Time,
    handed_over_at: Time,
    bytes: u64,
    /// Frames with unknown departure times.
    open_frames: u32,
}

impl Below {
    fn leaves_at(&self) -> Time {
        if self.open_frames > 0 { Time::NEVER } else { self.left_at }
    }
}

/// Packets that a connection has handed over to its host's interface.
#[derive(Clone, Debug)]
pub(super) struct SmallQueue {
    /// All packets except the newest, in the order of departure.
    packets: Ring<Below>,
    /// The newest packet, to which segments of the same burst may still be added. Its size is 0
    /// bytes if there is no packet.
    newest: Below,
    /// Memory of all packets.
    bytes: u64,
    /// The next data segment begins a new packet, even if it is sent at the same time as the
    /// previous one.
    begins: bool,
    /// A packet was held back and no packet has left since (`TSQ_THROTTLED`).
    holds: bool,
    /// Offset at which the newest packet of new data begins.
    newest_start: u64,
}

impl SmallQueue {
    /// Creates the queue, or none if the configuration has no limit.
    pub(super) fn new(config: &Config) -> Option<Box<Self>> {
        let queue = Self {
            packets: Ring::new(),
            newest: Below::default(),
            bytes: 0,
            begins: true,
            holds: false,
            newest_start: 0,
        };
        (config.limit_output_bytes > 0).then(|| Box::new(queue))
    }

    /// Memory of the packets still in the host at `now` (`sk_wmem_alloc`).
    fn bytes_at(&mut self, now: Time) -> u64 {
        if self.newest.leaves_at() <= now {
            self.packets.clear();
            self.newest.bytes = 0;
            self.bytes = 0;
        }
        while let Some(packet) = self.packets.front()
            && packet.leaves_at() <= now
        {
            self.bytes -= packet.bytes;
            self.packets.drop_front();
        }
        self.bytes
    }

    /// Records that a segment of `len` bytes was handed over at `now` and will have left at
    /// `left_at`.
    fn add(&mut self, now: Time, len: u32, left_at: Time) {
        let mut bytes = u64::from(len);
        if self.begins || self.newest.handed_over_at != now {
            if self.newest.bytes > 0 {
                self.packets.push_back(self.newest);
            }
            self.begins = false;
            self.newest = Below { left_at, handed_over_at: now, ..Below::default() };
            bytes += OVERHEAD_BYTES;
        }
        self.bytes += bytes;
        self.newest.bytes += bytes;
        if left_at == Time::NEVER {
            self.newest.open_frames += 1;
        } else {
            self.newest.left_at = left_at;
        }
    }

    /// Sets the departure time of the first frame whose departure was unknown.
    fn close_frame(&mut self, left_at: Time) {
        let known = self.packets.partition_point(|packet| packet.open_frames == 0);
        let in_queue = known < self.packets.len();
        let packet = if in_queue { &mut self.packets[known] } else { &mut self.newest };
        debug_assert!(packet.open_frames > 0, "all departures are known");
        packet.open_frames -= 1;
        packet.left_at = left_at;
    }

    /// When held-back data may be sent: at the next departure. [`Time::NEVER`] if nothing is held
    /// back, or if the departure time is unknown.
    pub(super) fn resumes_at(&self) -> Time {
        if self.holds {
            self.packets.front().unwrap_or(&self.newest).leaves_at()
        } else {
            Time::NEVER
        }
    }
}

impl Endpoint {
    /// Whether this connection has a small queue. If so, [`Self::handed_over`] must be called for
    /// each segment that is sent.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub const fn has_small_queue(&self) -> bool {
        self.small_queue.is_some()
    }

    /// True if this connection keeps its segments while the interface's queue is full, as Linux does
    /// since it has small queues (a packet that the queueing discipline refuses stays the next one to
    /// send: `tcp_write_xmit`). If false, the host drops them.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub const fn is_held_back(&self) -> bool {
        self.config.limit_output_bytes > 0
    }

    /// Reports that a segment with `len` bytes of payload, sent at `now`, waits in the host until
    /// `left_at`, or [`Time::NEVER`] if [`Self::handle_departure`] will report the departure later.
    /// Must not be called for a segment that the host dropped.
    pub fn handed_over(&mut self, now: Time, len: u32, left_at: Time) {
        // Segments without data are not counted: no data waits behind a SYN or FIN, and the kernel
        // counts almost no memory for pure acknowledgments (`skb_set_tcp_pure_ack`).
        if len > 0
            && let Some(queue) = &mut self.small_queue
        {
            queue.add(now, len, left_at);
        }
    }

    /// Reports that the first data segment handed over with [`Time::NEVER`] will have left at
    /// `left_at`. Held-back data may become due then.
    pub fn handle_departure(&mut self, left_at: Time) {
        if let Some(queue) = &mut self.small_queue {
            queue.close_frame(left_at);
            self.plan_wake();
        }
    }

    /// Bytes of memory that packets of this connection occupy in its host at `now`; 0 for a
    /// connection without a limit.
    #[must_use]
    pub fn bytes_below(&self, now: Time) -> u64 {
        let Some(queue) = &self.small_queue else { return 0 };
        let packets = queue.packets.iter().chain([&queue.newest]);
        packets.filter(|packet| packet.leaves_at() > now).map(|packet| packet.bytes).sum()
    }

    /// Whether a packet with `payload` bytes of new data has to wait until this connection has less
    /// data in the host. If it need not wait, the packet starts now.
    #[inline(never)]
    pub(super) fn holds_new(&mut self, now: Time, payload: u64) -> bool {
        let Some(queue) = &self.small_queue else { return false };
        let is_one_out = self.snd_una >= queue.newest_start;
        let holds = self.holds(now, payload, 0, is_one_out);
        if let Some(queue) = &mut self.small_queue
            && !holds
        {
            queue.newest_start = self.snd_nxt;
        }
        holds
    }

    /// Like [`Self::holds_new`] for a retransmission, which is a packet of its own. For
    /// retransmissions the limit is twice as high.
    pub(super) fn holds_again(&mut self, now: Time) -> bool {
        self.small_queue.is_some() && self.holds(now, self.mss.into(), 1, false)
    }

    /// `tcp_small_queue_check`. `is_one_out`: all unacknowledged data is in one packet.
    fn holds(&mut self, now: Time, payload: u64, factor: u32, is_one_out: bool) -> bool {
        let Some(queue) = &mut self.small_queue else { return false };
        queue.begins = true;
        // The kernel checks whether the memory exceeds the limit, and its counter starts at 1
        // (`sk_alloc`). So the comparison here is `<`.
        let bytes = queue.bytes_at(now);
        // The pacing rate of a paced connection is the only limit.
        let limit = if self.paced.is_some() { u32::MAX } else { self.config.limit_output_bytes };
        let most = u64::from(limit) << factor;
        let least = (2 * (OVERHEAD_BYTES + payload)) << factor;
        let fits =
            bytes < least.min(most) || (bytes < most && bytes >> factor < self.paced_bytes());
        // If only one packet is unacknowledged, there may be no departure left to wait for
        // (`tcp_rtx_queue_empty_or_single_skb`).
        if fits || is_one_out || self.sent.len() <= 1 {
            return false;
        }
        if let Some(queue) = &mut self.small_queue {
            queue.holds = true;
            self.plan_wake();
        }
        true
    }

    /// Stops holding packets back, because a packet has left.
    pub(super) fn resume(&mut self) {
        if let Some(queue) = &mut self.small_queue {
            queue.holds = false;
        }
    }

    /// Drops the queue and the state of pacing, because nothing more will be sent.
    pub(super) fn forget_waiting_data(&mut self) {
        self.small_queue = None;
        self.paced = None;
    }
}
