/// Computes how many cells a frame takes, by a multiplication instead of the slower division.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells {
    cell_bytes: u32,
    /// 2^40 divided by the cell size, rounded up. The rounding changes no quotient as long as the
    /// dividend times `cell_bytes` is below 2^40.
    reciprocal: u64,
}

impl Cells {
    const SHIFT: u32 = 40;
    /// Upper limit of frame sizes. A larger cell size is reduced to this limit: a frame takes one
    /// cell either way.
    const FRAME_BYTES_MAX: u32 = 1 << 19;

    pub(super) fn new(cell_bytes: u32) -> Self {
        let cell_bytes = cell_bytes.min(Self::FRAME_BYTES_MAX);
        Self { cell_bytes, reciprocal: (1_u64 << Self::SHIFT).div_ceil(u64::from(cell_bytes)) }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) const fn of(self, frame_bytes: u32) -> u32 {
        debug_assert!(frame_bytes <= Self::FRAME_BYTES_MAX, "no network has such frames");
        let dividend = (frame_bytes + self.cell_bytes - 1) as u64;
        ((dividend * self.reciprocal) >> Self::SHIFT) as u32
    }

    /// Bytes of buffer that a frame occupies: the number of its cells times the cell size.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) const fn bytes(self, frame_bytes: u32) -> u64 {
        self.of(frame_bytes) as u64 * self.cell_bytes as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn a_frame_takes_as_many_cells_as_a_division_gives(
            frame_bytes in 1..=Cells::FRAME_BYTES_MAX,
            cell_bytes in prop_oneof![1..=65_536_u32, any::<u32>().prop_map(|bytes| bytes.max(1))],
        ) {
            prop_assert_eq!(Cells::new(cell_bytes).of(frame_bytes), frame_bytes.div_ceil(cell_bytes));
        }

        #[test]
        fn so_does_one_at_the_edge_of_a_cell(cells in 1..=2_000_u32, cell_bytes in 1..=262_u32) {
            let frame_bytes = cells * cell_bytes;
            let found = Cells::new(cell_bytes);
            prop_assert_eq!(found.of(frame_bytes), cells);
            prop_assert_eq!(found.of(frame_bytes + 1), cells + 1);
        }
    }
}
