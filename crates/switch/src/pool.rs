//! Reusable buffers for frames.

/// How many buffers the pool allocates at the start.
const READY_FRAMES: u32 = 1024;

/// The frames in the switch, each in its own buffer.
///
/// A new buffer is allocated only when there are more frames in the switch than ever before. It is
/// then kept, so nothing is allocated while queues do not exceed their previous maximum.
pub(crate) struct Pool {
    buffers: Vec<Box<[u8]>>,
    /// Free slots. The most recently freed slot is used first, because it is still in the cache.
    free: Vec<u32>,
    buffer_bytes: usize,
    frames_max: u32,
}

impl Pool {
    /// A pool for at most `frames_max` frames of at most `buffer_bytes` each.
    pub(crate) fn new(frames_max: u32, buffer_bytes: usize) -> Self {
        let ready = frames_max.min(READY_FRAMES);
        let mut buffers = Vec::with_capacity(frames_max as usize);
        buffers.extend((0..ready).map(|_| new_buffer(buffer_bytes)));
        let mut free = Vec::with_capacity(frames_max as usize);
        free.extend((0..ready).rev());
        Self { buffers, free, buffer_bytes, frames_max }
    }

    /// Stores the frame in `buffer`, and replaces `buffer` by a free one. Returns the slot of the
    /// frame; none if all slots are in use.
    pub(crate) fn take(&mut self, buffer: &mut Box<[u8]>) -> Option<u32> {
        let slot = self.slot()?;
        std::mem::swap(buffer, &mut self.buffers[slot as usize]);
        Some(slot)
    }

    /// Stores a copy of `frame`, which must fit into a buffer. Returns the slot; none if all slots
    /// are in use.
    pub(crate) fn put(&mut self, frame: &[u8]) -> Option<u32> {
        let slot = self.slot()?;
        self.buffers[slot as usize][..frame.len()].copy_from_slice(frame);
        Some(slot)
    }

    fn slot(&mut self) -> Option<u32> {
        match self.free.pop() {
            Some(slot) => Some(slot),
            None => self.grow(),
        }
    }

    fn grow(&mut self) -> Option<u32> {
        let slot = self.buffers.len() as u32;
        (slot < self.frames_max).then(|| {
            self.buffers.push(new_buffer(self.buffer_bytes));
            slot
        })
    }

    /// The buffer of a frame.
    pub(crate) fn get(&self, slot: u32) -> &[u8] {
        &self.buffers[slot as usize]
    }

    /// The buffer of a frame, for writing.
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut [u8] {
        &mut self.buffers[slot as usize]
    }

    /// Frees the buffer of a frame that has left.
    pub(crate) fn give_back(&mut self, slot: u32) {
        self.free.push(slot);
    }
}

fn new_buffer(bytes: usize) -> Box<[u8]> {
    vec![0; bytes].into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_keeps_its_bytes_and_a_full_pool_takes_none() {
        let mut pool = Pool::new(1, 4);
        let mut buffer: Box<[u8]> = Box::new([1, 2, 3, 4]);
        let slot = pool.take(&mut buffer).expect("there is one");
        assert_eq!(pool.get(slot), [1, 2, 3, 4]);
        assert_eq!(*buffer, [0; 4]);
        assert_eq!(pool.take(&mut buffer), None);
        pool.give_back(slot);
        assert_eq!(pool.take(&mut buffer), Some(slot));
    }
}
