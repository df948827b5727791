use netstudy_ring::Ring;

use super::{Backlog, Item};

/// Frames that wait in the order of their arrival.
#[derive(Clone, Debug)]
pub(super) struct Frames<F> {
    ring: Ring<Item<F>>,
    bytes: u64,
}

impl<F: Copy + Default> Frames<F> {
    pub(super) const fn new() -> Self {
        Self { ring: Ring::new(), bytes: 0 }
    }

    pub(super) fn push(&mut self, item: Item<F>) {
        self.bytes += u64::from(item.bytes);
        self.ring.push_back(item);
    }

    pub(super) fn pop(&mut self) -> Option<Item<F>> {
        let item = self.ring.pop_front()?;
        self.bytes -= u64::from(item.bytes);
        Some(item)
    }

    /// The size of the first frame.
    pub(super) fn first_bytes(&self) -> Option<u32> {
        self.ring.front().map(|item| item.bytes)
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) const fn len(&self) -> usize {
        self.ring.len()
    }

    pub(super) const fn backlog(&self) -> Backlog {
        Backlog { bytes: self.bytes, frames: self.ring.len() as u64 }
    }
}
