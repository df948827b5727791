use alloc::vec;
use alloc::vec::Vec;

use super::{Arrival, NEVER_MARKED, SwitchBuffer, Verdict};
use crate::{Link, Transmitter};

/// How a shared packet memory is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedMemoryConfig {
    /// What all ports share.
    pub pool_bytes: u64,
    /// What a port has of its own, used before the pool.
    pub port_reserve_bytes: u64,
    /// A frame takes whole cells of this size.
    pub cell_bytes: u32,
    /// A queue may hold this many times what is free of the pool.
    pub alpha: f64,
    /// Frames that each ingress port may have queued whatever the pool holds, so that a full pool
    /// does not starve a port that has nothing in it.
    pub ingress_guarantee_frames: u32,
}

/// One packet memory for all ports, with dynamic thresholds (Choudhury and Hahne, "Dynamic queue
/// length thresholds for shared-memory packet switches", IEEE/ACM ToN 6(2), 1998).
///
/// All room is counted in cells. Departures are looked up lazily: a queue that is believed too long
/// or a pool believed too full is brought up to date before a frame is dropped for it, and a frame
/// that fits without that also fits with it.
#[derive(Clone, Debug)]
pub struct SharedMemory {
    ports: Vec<Transmitter>,
    cell_bytes: u32,
    pool_cells: u64,
    reserve_cells: u64,
    /// alpha in 1/1024, so that thresholds are integers.
    alpha_1024: u64,
    guarantee_frames: u32,
    marked_above_cells: u64,
    pool_used: u64,
    /// Frames in the memory by the port through which they came.
    queued_frames: Vec<u32>,
}

impl SharedMemory {
    /// A switch with a port for each of `links`.
    #[must_use]
    pub fn new(links: &[Link], config: &SharedMemoryConfig) -> Self {
        let cell = u64::from(config.cell_bytes.max(1));
        Self {
            ports: links.iter().map(|&link| Transmitter::new(link)).collect(),
            cell_bytes: config.cell_bytes.max(1),
            pool_cells: config.pool_bytes / cell,
            reserve_cells: config.port_reserve_bytes / cell,
            alpha_1024: alpha_1024(config.alpha),
            guarantee_frames: config.ingress_guarantee_frames,
            marked_above_cells: NEVER_MARKED,
            pool_used: 0,
            queued_frames: vec![0; links.len()],
        }
    }

    /// Marks frames that meet a queue whose cells hold more than `bytes`.
    #[must_use]
    pub const fn marking_above(mut self, bytes: u64) -> Self {
        self.marked_above_cells = bytes / self.cell_bytes as u64;
        self
    }

    fn release(&mut self, port: usize, now: netstudy_units::Time) {
        let transmitter = &mut self.ports[port];
        let queued = &mut self.queued_frames;
        let before = transmitter.occupied();
        transmitter.release(now, |frame| queued[frame.ingress as usize] -= 1);
        let in_pool = |occupied: u64| occupied.saturating_sub(self.reserve_cells);
        self.pool_used -= in_pool(before) - in_pool(self.ports[port].occupied());
    }

    fn release_all(&mut self, now: netstudy_units::Time) {
        for port in 0..self.ports.len() {
            self.release(port, now);
        }
    }

    /// Whether a queue may grow to `occupied` cells by taking `from_pool` more of the pool.
    #[inline]
    fn fits(&self, occupied: u64, from_pool: u64) -> bool {
        if from_pool == 0 {
            return true;
        }
        let free = self.pool_cells.saturating_sub(self.pool_used);
        from_pool <= free && occupied - self.reserve_cells <= (self.alpha_1024 * free) >> 10
    }

    fn is_guaranteed(&self, ingress: u32) -> bool {
        self.queued_frames[ingress as usize] < self.guarantee_frames
    }

    #[inline]
    fn needs(&self, egress: usize, cells: u32) -> (u64, u64) {
        let before = self.ports[egress].occupied();
        let after = before + u64::from(cells);
        let in_pool = |occupied: u64| occupied.saturating_sub(self.reserve_cells);
        (after, in_pool(after) - in_pool(before))
    }
}

fn alpha_1024(alpha: f64) -> u64 {
    #[allow(clippy::cast_sign_loss, reason = "the study's schema allows positive alphas only")]
    let fixed = (alpha * 1024.0) as u64;
    fixed
}

impl<F: Copy> SwitchBuffer<F> for SharedMemory {
    #[inline(always)]
    fn offer(&mut self, arrival: &Arrival, _frame: &F) -> Verdict {
        let egress = arrival.egress as usize;
        let cells = arrival.frame_bytes.div_ceil(self.cell_bytes);
        self.release(egress, arrival.now);
        let (mut occupied, mut from_pool) = self.needs(egress, cells);
        if !self.fits(occupied, from_pool) {
            self.release_all(arrival.now);
            (occupied, from_pool) = self.needs(egress, cells);
            if !self.fits(occupied, from_pool) && !self.is_guaranteed(arrival.ingress) {
                return Verdict::Dropped;
            }
        }
        self.pool_used += from_pool;
        self.queued_frames[arrival.ingress as usize] += 1;
        let port = &mut self.ports[egress];
        let marked = port.occupied() > self.marked_above_cells;
        let departs = port.send(arrival.ready, arrival.frame_bytes, cells, arrival.ingress);
        if marked { Verdict::Marked(departs) } else { Verdict::Departs(departs) }
    }

    fn queue_bytes_max(&self, egress: u32) -> u64 {
        self.ports[egress as usize].occupied_max() * u64::from(self.cell_bytes)
    }
}
