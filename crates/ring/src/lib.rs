//! A FIFO in a ring of slots.
//!
//! Like a `VecDeque` for plain values, but with about half the instructions. The number of slots is
//! a power of two, so a mask finds a slot. Head and tail need no wrap-around: they only grow until
//! the ring is empty again. Slots are never freed, so once the ring is large enough, adding a value
//! allocates no memory.
#![no_std]

extern crate alloc;

use alloc::vec::Vec;
use core::ops::{Index, IndexMut, Range};

/// Number of slots of the first allocation. It is small because 10,000 flows have several rings
/// each, and most of these stay short.
const SLOTS_MIN: usize = 4;

/// A FIFO of plain values.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Vec<T>,
    /// Number of values taken since the ring was last empty. Value n is in slot n modulo the number
    /// of slots.
    head: usize,
    /// Number of values added since the ring was last empty.
    tail: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Ring<T> {
    /// An empty ring, which holds no memory yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: Vec::new(), head: 0, tail: 0 }
    }

    /// Number of values.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        self.tail - self.head
    }

    /// Whether there is no value.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.tail == self.head
    }

    /// Forgets all values.
    #[inline]
    pub const fn clear(&mut self) {
        self.head = 0;
        self.tail = 0;
    }

    /// The slot of the value with the number `number`. For a ring without slots the result is not a
    /// valid index; the bounds check catches it.
    #[inline]
    const fn slot(&self, number: usize) -> usize {
        number & self.slots.len().wrapping_sub(1)
    }

    const fn numbers(&self) -> Range<usize> {
        self.head..self.tail
    }
}

impl<T: Copy + Default> Ring<T> {
    /// The value that was added first.
    #[must_use]
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { self.slots.get(self.slot(self.head)) }
    }

    /// The value at `index` from the front.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        if index < self.len() { self.slots.get(self.slot(self.head + index)) } else { None }
    }

    /// Adds a value at the back.
    #[inline]
    pub fn push_back(&mut self, value: T) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.tail);
        self.slots[slot] = value;
        self.tail += 1;
    }

    /// Adds a value before the one at `index`, or at the back. Moves all values behind it.
    pub fn insert(&mut self, index: usize, value: T) {
        debug_assert!(index <= self.len(), "there are fewer values");
        self.push_back(value);
        for number in (self.head + index + 1..self.tail).rev() {
            let (slot, before) = (self.slot(number), self.slot(number - 1));
            self.slots.swap(slot, before);
        }
    }

    /// Forgets the value at the front; there must be one.
    #[inline]
    pub const fn drop_front(&mut self) {
        self.drop_first(1);
    }

    /// Forgets the first `count` values; the ring must hold at least this number.
    #[inline]
    pub const fn drop_first(&mut self, count: usize) {
        debug_assert!(count <= self.len(), "there are fewer values");
        self.head += count;
        if self.is_empty() {
            // Starts again at the first slot, so that the next values use slots that are still in
            // the cache.
            self.clear();
        }
    }

    /// Takes the value at the front.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let value = *self.front()?;
        self.drop_front();
        Some(value)
    }

    /// The values from front to back.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.iter_from(0)
    }

    /// The values from index `index` to the back. Skipping the values before it costs nothing.
    #[must_use]
    pub fn iter_from(
        &self,
        index: usize,
    ) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        let Range { start, end } = self.numbers();
        (end.min(start + index)..end).map(|number| &self.slots[self.slot(number)])
    }

    /// Number of values at the front that fulfil `is_below`. No later value may fulfil it.
    pub fn partition_point(&self, mut is_below: impl FnMut(&T) -> bool) -> usize {
        let Range { start: mut low, end: mut high } = self.numbers();
        while low < high {
            let middle = low + (high - low) / 2;
            if is_below(&self.slots[self.slot(middle)]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low - self.head
    }

    /// Doubles the slots.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let len = (2 * self.slots.len()).max(SLOTS_MIN);
        let mut slots = Vec::with_capacity(len);
        slots.resize(len, T::default());
        for number in self.numbers() {
            slots[number & (len - 1)] = self.slots[self.slot(number)];
        }
        self.slots = slots;
    }
}

impl<T> Index<usize> for Ring<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        debug_assert!(index < self.len(), "{index} of {}", self.len());
        &self.slots[self.slot(self.head + index)]
    }
}

impl<T> IndexMut<usize> for Ring<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < self.len(), "{index} of {}", self.len());
        let slot = self.slot(self.head + index);
        &mut self.slots[slot]
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::collections::VecDeque;

    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Operation {
        Push(u32),
        Pop,
        Drop(usize),
        Clear,
        Set(usize, u32),
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            12 => any::<u32>().prop_map(Operation::Push),
            8 => Just(Operation::Pop),
            2 => any::<usize>().prop_map(Operation::Drop),
            1 => Just(Operation::Clear),
            4 => (any::<usize>(), any::<u32>()).prop_map(|(at, value)| Operation::Set(at, value)),
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_a_deque(operations in prop::collection::vec(operation(), 0..200)) {
            let (mut ring, mut twin) = (Ring::new(), VecDeque::new());
            for operation in operations {
                match operation {
                    Operation::Push(value) => {
                        ring.push_back(value);
                        twin.push_back(value);
                    }
                    Operation::Pop => prop_assert_eq!(ring.pop_front(), twin.pop_front()),
                    Operation::Drop(count) => {
                        let count = count % (twin.len() + 1);
                        ring.drop_first(count);
                        twin.drain(..count);
                    }
                    Operation::Clear => {
                        ring.clear();
                        twin.clear();
                    }
                    Operation::Set(at, value) if !twin.is_empty() => {
                        ring[at % twin.len()] = value;
                        let len = twin.len();
                        twin[at % len] = value;
                    }
                    Operation::Set(..) => {}
                }
                prop_assert_eq!((ring.len(), ring.is_empty()), (twin.len(), twin.is_empty()));
                prop_assert_eq!(ring.front(), twin.front());
                prop_assert!(ring.iter().eq(twin.iter()));
                prop_assert!(ring.iter().rev().eq(twin.iter().rev()));
                prop_assert!((0..4).all(|skip| ring.iter_from(skip).eq(twin.iter().skip(skip))));
                prop_assert_eq!(ring.get(twin.len()), None);
                prop_assert!((0..twin.len()).all(|at| ring[at] == twin[at] && ring.get(at) == twin.get(at)));
            }
        }

        #[test]
        fn finds_where_sorted_values_part(
            dropped in 0u32..20, values in 0u32..40, from in 0u32..60,
        ) {
            let mut ring = Ring::new();
            (0..dropped).for_each(|value| ring.push_back(value));
            (0..dropped).for_each(|_| ring.drop_front());
            (0..values).for_each(|value| ring.push_back(value));
            prop_assert_eq!(ring.partition_point(|&value| value < from), from.min(values) as usize);
        }
    }
}
