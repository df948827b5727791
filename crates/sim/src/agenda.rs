use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use netstudy_units::Time;

/// The sources that have something to come, by the time of its arrival: a heap.
///
/// At equal times the lower source comes first. Of many sources few are busy at a time, and the cost
/// depends on those alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<u128>>,
}

/// A time and, in the low bits, its source.
const fn entry(time: Time, source: usize) -> u128 {
    ((time.as_ps() as u128) << 64) | source as u128
}

impl Agenda {
    /// The earliest source and its time; the time is [`Time::NEVER`] if there is no source.
    #[inline]
    pub(crate) fn earliest(&self) -> (usize, Time) {
        match self.heap.peek() {
            Some(Reverse(first)) => (*first as u64 as usize, Time::from_ps((first >> 64) as u64)),
            None => (0, Time::NEVER),
        }
    }

    /// A source that had nothing has something at `time`.
    #[inline]
    pub(crate) fn add(&mut self, source: usize, time: Time) {
        self.heap.push(Reverse(entry(time, source)));
    }

    /// What the earliest source had is taken; it has something more at `next`, or nothing.
    #[inline]
    pub(crate) fn advance(&mut self, next: Option<Time>) {
        let Some(mut first) = self.heap.peek_mut() else { return };
        match next {
            Some(time) => first.0 = entry(time, first.0 as u64 as usize),
            None => {
                PeekMut::pop(first);
            }
        }
    }
}
