//! Counts frames that were lost outside the emulated buffer. A single such frame makes a run
//! invalid.

use std::fmt::Write;

use crate::Failure;
use crate::interfaces::{self, InterfaceCounters};
use crate::plan::HostEnd;

/// Lost frames so far, and the kernel's counters at the start of the switch.
pub(crate) struct Losses {
    /// For each port: the kernel's counters at the start.
    base: Vec<InterfaceCounters>,
    /// For each port: frames that the switch has read since the start.
    pub(crate) received: Vec<u64>,
    /// For each port: frames that the interface did not accept.
    pub(crate) refused: Vec<u64>,
    /// Frames longer than the MTU allows.
    pub(crate) too_long: u64,
    /// Frames for which the switch had no memory.
    pub(crate) without_buffer: u64,
}

/// The frames lost at all ports, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// Frames that the kernel counted but the switch never read.
    unread: u64,
    /// Sent frames that the host had no room for.
    unsent: u64,
    too_long: u64,
    without_buffer: u64,
}

impl Losses {
    /// Starts to count. `base` are the current counters of the interfaces.
    pub(crate) fn begin(base: Vec<InterfaceCounters>) -> Self {
        let ports = base.len();
        Self {
            base,
            received: vec![0; ports],
            refused: vec![0; ports],
            too_long: 0,
            without_buffer: 0,
        }
    }

    /// The frames lost so far, given the current counters `now` of the interfaces.
    pub(crate) fn lost(&self, now: &[InterfaceCounters]) -> Lost {
        let mut lost = Lost {
            too_long: self.too_long,
            without_buffer: self.without_buffer,
            ..Lost::default()
        };
        for (port, (now, base)) in now.iter().zip(&self.base).enumerate() {
            let came = now.received.saturating_sub(base.received);
            lost.unread += came.saturating_sub(self.received[port]);
            // The kernel counts some of the frames that it did not accept, but not all.
            let dropped = now.sent_dropped.saturating_sub(base.sent_dropped);
            lost.unsent += dropped.max(self.refused[port]);
        }
        lost
    }
}

impl Lost {
    /// The number of all lost frames.
    pub(crate) const fn frames(&self) -> u64 {
        self.unread + self.unsent + self.too_long + self.without_buffer
    }

    /// Number of frames that may still be in the kernel.
    pub(crate) const fn unread(&self) -> u64 {
        self.unread
    }

    /// An error message if frames were lost; otherwise none.
    pub(crate) fn complaint(&self, mtu_bytes: u32) -> Option<String> {
        let longer = format!(
            "were longer than an MTU of {mtu_bytes} B allows: segmentation offload is on at a host"
        );
        let reasons = [
            (self.unread, "were lost between the host and the switch"),
            (self.unsent, "were sent, but the host had no room for them"),
            (self.too_long, longer.as_str()),
            (self.without_buffer, "arrived when the switch's memory for frames was full"),
        ];
        let mut text = String::new();
        for (frames, reason) in reasons.into_iter().filter(|&(frames, _)| frames > 0) {
            let separator = if text.is_empty() { "" } else { "; " };
            write!(text, "{separator}{frames} frames {reason}").expect("a string takes it");
        }
        (!text.is_empty()).then_some(text)
    }
}

/// The counters of each port's interface, parsed from `text`, the contents of the kernel's file.
pub(crate) fn count(text: &str, hosts: &[HostEnd]) -> Result<Vec<InterfaceCounters>, Failure> {
    let one = |host: &HostEnd| {
        interfaces::parse(text, &host.interface).ok_or_else(|| {
            Failure::Testbed(format!("{} does not list {:?}", interfaces::FILE, host.interface))
        })
    };
    hosts.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(received: u64, sent_dropped: u64) -> InterfaceCounters {
        InterfaceCounters { received, sent_dropped }
    }

    #[test]
    fn what_the_kernel_counted_and_the_switch_never_saw_is_lost() {
        let mut losses = Losses::begin(vec![counters(100, 0), counters(5, 2)]);
        losses.received = vec![40, 10];
        losses.refused = vec![0, 1];
        let lost = losses.lost(&[counters(140, 0), counters(18, 3)]);
        assert_eq!((lost.unread(), lost.frames()), (3, 4), "a refused frame counts once");
        let complaint = lost.complaint(1500).expect("something was lost");
        assert!(complaint.contains("3 frames were lost between"), "{complaint}");
        assert!(complaint.contains("; 1 frames were sent"), "{complaint}");
    }

    #[test]
    fn without_a_loss_there_is_no_complaint() {
        let mut losses = Losses::begin(vec![counters(7, 0)]);
        losses.received = vec![3];
        assert_eq!(losses.lost(&[counters(10, 0)]).complaint(1500), None);
    }
}
