use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use netstudy_units::Time;
use serde::{Deserialize, Serialize};

use super::cells::Cells;
use super::{Arrival, NEVER_MARKED, Parameters, SwitchBuffer, Verdict};
use crate::stepped::{Admission, Architecture, Room};
use crate::{FromConfig, Link, SwitchSetup, Transmitter};

/// Ports per word of [`SharedMemory::busy`].
const WORD_BITS: usize = u64::BITS as usize;

/// How a shared packet memory is divided.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedMemoryConfig {
    /// Memory shared by all ports.
    pub pool_bytes: u64,
    /// Memory reserved for each port. A port uses its reserve before the pool.
    pub port_reserve_bytes: u64,
    /// A frame takes whole cells of this size.
    pub cell_bytes: u32,
    /// A queue may take at most this multiple of the free part of the pool.
    pub alpha: f64,
    /// Frames that each ingress port may always have queued, so that a full pool does not starve a
    /// port with an empty queue.
    pub ingress_guarantee_frames: u32,
}

impl Parameters for SharedMemoryConfig {
    fn room_bytes(&self) -> u64 {
        self.pool_bytes + self.port_reserve_bytes
    }

    fn check(&self) -> Result<(), String> {
        let Self { alpha, .. } = self;
        if alpha.is_finite() && *alpha > 0.0 {
            Ok(())
        } else {
            Err(format!("alpha: {alpha} is not above 0"))
        }
    }
}

/// Keeps account of a packet memory: the occupancy of its pool, and the admission of frames. Space
/// is counted in cells.
#[derive(Clone, Debug)]
struct Memory {
    cell_bytes: u32,
    cells: Cells,
    pool_cells: u64,
    reserve_cells: u64,
    /// alpha in units of 1/1024, so that thresholds are integers.
    alpha_1024: u64,
    guarantee_frames: u32,
    marked_above_cells: u64,
    pool_used: u64,
    /// Number of frames in the memory, by ingress port.
    queued_frames: Vec<u32>,
}

impl Memory {
    fn new(ports: usize, config: &SharedMemoryConfig) -> Self {
        let cell = u64::from(config.cell_bytes.max(1));
        Self {
            cell_bytes: config.cell_bytes.max(1),
            cells: Cells::new(config.cell_bytes.max(1)),
            pool_cells: config.pool_bytes / cell,
            reserve_cells: config.port_reserve_bytes / cell,
            alpha_1024: alpha_1024(config.alpha),
            guarantee_frames: config.ingress_guarantee_frames,
            marked_above_cells: NEVER_MARKED,
            pool_used: 0,
            queued_frames: vec![0; ports],
        }
    }

    const fn mark_above(&mut self, bytes: u64) {
        self.marked_above_cells = bytes / self.cell_bytes as u64;
    }

    /// Number of pool cells taken by a queue of `occupied` cells: those beyond the port's reserve.
    #[inline]
    const fn in_pool(&self, occupied: u64) -> u64 {
        occupied.saturating_sub(self.reserve_cells)
    }

    /// New length of a queue of `before` cells after `cells` are added, and how many of the added
    /// cells come from the pool.
    #[inline]
    const fn needs(&self, before: u64, cells: u32) -> (u64, u64) {
        let after = before + cells as u64;
        (after, self.in_pool(after) - self.in_pool(before))
    }

    /// Whether a queue may grow to `after` cells by taking `from_pool` more cells from the pool.
    #[inline]
    const fn fits(&self, after: u64, from_pool: u64) -> bool {
        if from_pool == 0 {
            return true;
        }
        let free = self.pool_cells.saturating_sub(self.pool_used);
        from_pool <= free && after - self.reserve_cells <= (self.alpha_1024 * free) >> 10
    }

    #[inline]
    fn is_guaranteed(&self, ingress: u32) -> bool {
        self.queued_frames[ingress as usize] < self.guarantee_frames
    }

    /// Adds a frame that takes `from_pool` cells of the pool.
    #[inline]
    fn take(&mut self, from_pool: u64, ingress: u32) {
        self.pool_used += from_pool;
        self.queued_frames[ingress as usize] += 1;
    }

    /// Frees the memory of the frames that `port` has sent by `now`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn release(&mut self, port: &mut Transmitter, now: Time) {
        let queued = &mut self.queued_frames;
        let before = port.occupied();
        port.release(now, |frame| queued[frame.ingress as usize] -= 1);
        if port.occupied() < before {
            self.shrink(before, port.occupied());
        }
    }

    /// Returns cells to the pool when a queue shrinks from `before` to `after` cells.
    #[inline]
    const fn shrink(&mut self, before: u64, after: u64) {
        self.pool_used -= self.in_pool(before) - self.in_pool(after);
    }
}

/// One packet memory for all ports, with dynamic thresholds (Choudhury and Hahne, "Dynamic queue
/// length thresholds for shared-memory packet switches", IEEE/ACM ToN 6(2), 1998).
///
/// Departures are subtracted lazily: only when a frame would otherwise be dropped, because its
/// queue seems too long or the pool too full. A frame that fits before the subtraction also fits
/// after it.
#[derive(Clone, Debug)]
pub struct SharedMemory {
    ports: Vec<Transmitter>,
    /// One bit per port, which is set if the port's queue may hold frames. When the pool seems
    /// full, departures are subtracted at these ports only.
    busy: Vec<u64>,
    memory: Memory,
}

impl SharedMemory {
    /// A switch with a port for each of `links`.
    #[must_use]
    pub fn new(links: &[Link], config: &SharedMemoryConfig) -> Self {
        Self {
            ports: links.iter().map(|&link| Transmitter::new(link)).collect(),
            busy: vec![0; links.len().div_ceil(WORD_BITS)],
            memory: Memory::new(links.len(), config),
        }
    }

    /// Marks frames that arrive at a queue whose cells have a total size of more than `bytes`.
    #[must_use]
    pub const fn marking_above(mut self, bytes: u64) -> Self {
        self.memory.mark_above(bytes);
        self
    }

    fn release_all(&mut self, now: Time) {
        for word in 0..self.busy.len() {
            let mut left = self.busy[word];
            while left != 0 {
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                let port = &mut self.ports[word * WORD_BITS + bit];
                self.memory.release(port, now);
                if port.frames() == 0 {
                    self.busy[word] &= !(1 << bit);
                }
            }
        }
    }

    fn set_busy(&mut self, port: usize) {
        self.busy[port / WORD_BITS] |= 1 << (port % WORD_BITS);
    }
}

fn alpha_1024(alpha: f64) -> u64 {
    #[allow(clippy::cast_sign_loss, reason = "the study's schema allows positive alphas only")]
    let fixed = (alpha * 1024.0) as u64;
    fixed
}

impl FromConfig<SharedMemoryConfig> for SharedMemory {
    fn from_config(config: &SharedMemoryConfig, setup: &SwitchSetup<'_>) -> Self {
        Self::new(setup.links, config).marking_above(setup.marked_above_bytes)
    }
}

impl<F: Copy> SwitchBuffer<F> for SharedMemory {
    /// True if the queue of the egress port, this frame included, fits into that port's reserve.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn is_private(&self, arrival: &Arrival) -> bool {
        let cells = self.memory.cells.of(arrival.frame_bytes);
        let queued = self.ports[arrival.egress as usize].occupied();
        queued + u64::from(cells) <= self.memory.reserve_cells
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn offer(&mut self, arrival: &Arrival, _frame: &F) -> Verdict {
        let egress = arrival.egress as usize;
        let cells = self.memory.cells.of(arrival.frame_bytes);
        let mut port = &mut self.ports[egress];
        self.memory.release(port, arrival.now);
        let (mut after, mut from_pool) = self.memory.needs(port.occupied(), cells);
        if !self.memory.fits(after, from_pool) {
            self.release_all(arrival.now);
            port = &mut self.ports[egress];
            (after, from_pool) = self.memory.needs(port.occupied(), cells);
            if !self.memory.fits(after, from_pool) && !self.memory.is_guaranteed(arrival.ingress) {
                return Verdict::Dropped;
            }
        }
        self.memory.take(from_pool, arrival.ingress);
        let marked = port.occupied() > self.memory.marked_above_cells;
        let departs = port.send(arrival.ready, arrival.frame_bytes, cells, arrival.ingress);
        self.set_busy(egress);
        Verdict::departs(departs, marked)
    }

    fn queue_bytes_max(&self, egress: u32) -> u64 {
        self.ports[egress as usize].occupied_max() * u64::from(self.memory.cell_bytes)
    }

    fn queue_bytes(&self, egress: u32, now: Time) -> u64 {
        self.ports[egress as usize].occupied_at(now) * u64::from(self.memory.cell_bytes)
    }
}

/// The rules of [`SharedMemory`] for [`crate::stepped`].
#[derive(Clone, Debug)]
pub struct PacketMemory {
    memory: Memory,
    /// Queued cells of each egress port, the frame on the wire included.
    queued: Vec<u64>,
    queued_max: Vec<u64>,
    /// Occupied cells of each ingress port.
    ingress: Vec<u64>,
}

impl PacketMemory {
    /// Like [`SharedMemory::new`], for this number of ports.
    #[must_use]
    pub fn new(ports: usize, config: &SharedMemoryConfig) -> Self {
        Self {
            memory: Memory::new(ports, config),
            queued: vec![0; ports],
            queued_max: vec![0; ports],
            ingress: vec![0; ports],
        }
    }

    /// As [`SharedMemory::marking_above`].
    #[must_use]
    pub const fn marking_above(mut self, bytes: u64) -> Self {
        self.memory.mark_above(bytes);
        self
    }
}

impl FromConfig<SharedMemoryConfig> for PacketMemory {
    fn from_config(config: &SharedMemoryConfig, setup: &SwitchSetup<'_>) -> Self {
        Self::new(setup.links.len(), config).marking_above(setup.marked_above_bytes)
    }
}

impl<F> Architecture<F> for PacketMemory {
    fn admit(
        &mut self,
        arrival: &Arrival,
        _frame: &F,
        _drained_at: impl FnOnce() -> Time,
    ) -> Admission {
        let egress = arrival.egress as usize;
        let met = self.queued[egress];
        let cells = self.memory.cells.of(arrival.frame_bytes);
        let (after, from_pool) = self.memory.needs(met, cells);
        if !self.memory.fits(after, from_pool) && !self.memory.is_guaranteed(arrival.ingress) {
            return Admission::Dropped;
        }
        self.memory.take(from_pool, arrival.ingress);
        self.queued[egress] = after;
        self.queued_max[egress] = self.queued_max[egress].max(self.queued[egress]);
        self.ingress[arrival.ingress as usize] += u64::from(cells);
        Admission::Queued { marked: met > self.memory.marked_above_cells }
    }

    fn release(&mut self, room: &Room) {
        let cells = u64::from(self.memory.cells.of(room.frame_bytes));
        let queued = &mut self.queued[room.egress as usize];
        self.memory.shrink(*queued, *queued - cells);
        self.memory.queued_frames[room.ingress as usize] -= 1;
        *queued -= cells;
        self.ingress[room.ingress as usize] -= cells;
    }

    fn ingress_bytes(&self, ingress: u32) -> u64 {
        self.ingress[ingress as usize] * u64::from(self.memory.cell_bytes)
    }

    fn queue_bytes_max(&self, egress: u32) -> u64 {
        self.queued_max[egress as usize] * u64::from(self.memory.cell_bytes)
    }

    fn queue_bytes(&self, egress: u32) -> u64 {
        self.queued[egress as usize] * u64::from(self.memory.cell_bytes)
    }
}
