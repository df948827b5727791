//! Counts frames by size, in the size classes of RMON's etherStatsTable (RFC 2819, 5).

/// Number of frames by size, check sequence included: 64 bytes, 65 to 127, 128 to 255, 256 to 511,
/// 512 to 1023, 1024 to 1518, and longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameSizes([u64; FrameSizes::CLASSES]);

impl FrameSizes {
    /// The number of classes.
    pub const CLASSES: usize = 7;
    /// Longest frame of the second-to-last class: a full frame without a VLAN tag (IEEE 802.3,
    /// 3.2.7).
    const LONGEST: u32 = 1518;

    /// Counts one frame.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub const fn count(&mut self, frame_bytes: u32) {
        self.0[Self::class(frame_bytes)] += 1;
    }

    /// Subtracts frames of these sizes from the counts. All of these frames must have been counted.
    #[must_use]
    pub fn without(mut self, sizes: impl Iterator<Item = u32>) -> Self {
        sizes.for_each(|frame_bytes| self.0[Self::class(frame_bytes)] -= 1);
        self
    }

    /// Number of all frames.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Number of frames of each class, shortest frames first.
    #[must_use]
    pub const fn frames(&self) -> [u64; Self::CLASSES] {
        self.0
    }

    /// Above 64 bytes the class bounds are powers of two, so the class is computed, not searched
    /// for.
    #[cfg_attr(not(debug_assertions), inline(always))]
    const fn class(frame_bytes: u32) -> usize {
        if frame_bytes <= 64 {
            0
        } else if frame_bytes > Self::LONGEST {
            Self::CLASSES - 1
        } else {
            frame_bytes.ilog2() as usize - 5
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_counts_in_the_class_that_names_it() {
        let classes = [(60, 64), (65, 127), (128, 255), (256, 511), (512, 1023), (1024, 1518)];
        for (class, (least, most)) in classes.into_iter().enumerate() {
            for frame_bytes in least..=most {
                let mut sizes = FrameSizes::default();
                sizes.count(frame_bytes);
                let mut expected = [0; FrameSizes::CLASSES];
                expected[class] = 1;
                assert_eq!(sizes.frames(), expected, "{frame_bytes} bytes");
                assert_eq!(sizes.total(), 1);
            }
        }
    }

    #[test]
    fn longer_frames_have_a_class_of_their_own() {
        let mut sizes = FrameSizes::default();
        for frame_bytes in [1519, 1522, 2048, 9018, 65_553] {
            sizes.count(frame_bytes);
        }
        assert_eq!(sizes.frames(), [0, 0, 0, 0, 0, 0, 5]);
    }
}
