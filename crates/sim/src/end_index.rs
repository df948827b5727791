//! The number of one end of a connection.

/// Index of one end of a connection: 2n for the end that opens connection n, 2n + 1 for the other
/// end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndIndex(pub(crate) u32);

impl EndIndex {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// The number of the connection.
    pub(crate) const fn connection(self) -> usize {
        self.0 as usize / 2
    }

    /// 0 for the end that opens the connection, 1 for the other end.
    pub(crate) const fn side(self) -> usize {
        self.0 as usize % 2
    }

    /// The other end of the connection.
    pub(crate) const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }
}
