//! Ends of connections that wait for room in the full queue of their own host. Linux with TCP small
//! queues holds packets back that the queue of an interface does not take; here, they go on when a
//! frame has left the queue.
//!
//! Each queue has a FIFO of such ends. Only the first end has a time: when the next frame leaves. It
//! then sends as much as there is room for, and goes to the end of the FIFO if more is due.

use std::collections::{BTreeMap, VecDeque};

use netstudy_units::Time;
use netstudy_workload::Traffic;

use super::{Hosts, Network};
use crate::account::Fired;
use crate::end_index::EndIndex;

/// For each queue that is or was full, by its number in the network: the ends that wait for room.
pub(super) type FullQueues = BTreeMap<usize, VecDeque<EndIndex>>;

impl<T: Traffic, N> Hosts<'_, T, N> {
    /// True if the queue of the interface is full and the end has segments to send. The end then joins
    /// the FIFO of this queue and sends when its turn comes.
    pub(super) fn waits_for_room(
        &mut self,
        network: &mut impl Network<T, Line = N>,
        now: Time,
        end: EndIndex,
    ) -> bool {
        if self.end(end).waits {
            return true;
        }
        if !self.end(end).tcp.may_have_due() {
            return false;
        }
        let (queue, at) = network.room_at(self, now, end);
        if at <= now {
            return false;
        }
        self.wait_for_room(network, queue, end, at);
        true
    }

    #[cold]
    fn wait_for_room(
        &mut self,
        network: &mut impl Network<T, Line = N>,
        queue: usize,
        end: EndIndex,
        at: Time,
    ) {
        if Self::accounts(network) {
            network.trace().hold(end);
        }
        self.end(end).waits = true;
        self.end(end).tcp.held_by_host();
        let ends = self.shared.full_queues.entry(queue).or_default();
        ends.push_back(end);
        if ends.len() == 1 {
            self.note_room(end, at);
        }
    }

    /// Makes the acknowledgment due again that the network has just not sent, if the reason is that
    /// the queue of the host is full and the host holds segments back.
    #[cold]
    pub(super) fn take_back_ack(
        &mut self,
        network: &mut impl Network<T, Line = N>,
        now: Time,
        end: EndIndex,
    ) {
        if !self.end(end).tcp.is_held_back() {
            return;
        }
        let (queue, at) = network.room_at(self, now, end);
        if at <= now {
            return;
        }
        self.end(end).tcp.take_back_ack();
        if !self.end(end).waits {
            self.wait_for_room(network, queue, end, at);
        }
    }

    /// The first end that waits for room in a queue, if the network does not know yet when there
    /// will be room.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn waits_for_unknown(&self, queue: usize) -> Option<EndIndex> {
        if self.shared.full_queues.is_empty() {
            return None;
        }
        let &first = self.shared.full_queues.get(&queue)?.front()?;
        (self.ends[first.index()].room_at == Time::NEVER).then_some(first)
    }

    /// Notes when the queue will have room for the first end that waits.
    pub(crate) fn note_room(&mut self, end: EndIndex, at: Time) {
        self.end(end).room_at = at;
        if at < self.end(end).due {
            self.again().set_timer(end, at);
        }
    }

    /// The queue in which the end `first` waits has room at `now`. The ends that wait send in their
    /// order, until the queue is full.
    #[cold]
    pub(super) fn fill_queue(
        &mut self,
        network: &mut impl Network<T, Line = N>,
        now: Time,
        first: EndIndex,
    ) {
        let (queue, _) = network.room_at(self, now, first);
        while let Some(end) = self.first_waiting(queue) {
            let (_, at) = network.room_at(self, now, end);
            if at > now {
                self.note_room(end, at);
                return;
            }
            if let Some(ends) = self.shared.full_queues.get_mut(&queue) {
                ends.pop_front();
            }
            let host = self.host_of(end);
            let state = self.end(end);
            (state.waits, state.room_at) = (false, Time::NEVER);
            let standing = state.tcp.noted_standing();
            if Self::accounts(network) {
                let fired = Fired::HostQueue { interface: queue };
                network.trace().fire(end, now, fired, standing);
            }
            self.pump(network, now, host, end);
        }
    }

    fn first_waiting(&self, queue: usize) -> Option<EndIndex> {
        self.shared.full_queues.get(&queue)?.front().copied()
    }
}
