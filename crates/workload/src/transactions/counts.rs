//! A generator's counts in its measuring phase.

use core::ops::AddAssign;

use netstudy_units::Duration;

/// Counts of one operation. `offered` counts submissions that were due in the phase or in progress
/// when the phase began: offered = completed + network errors + server errors + not met +
/// unfinished. Completed and failed submissions, page elements and bytes are counted if they ended
/// within the phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Submissions that were due in the phase or in progress when the phase began.
    pub offered: u64,
    /// Submissions in progress when the phase began.
    pub carried: u64,
    /// Submissions that were not started because too many submissions were in progress.
    pub not_met: u64,
    /// Submissions that ended without an error.
    pub completed: u64,
    /// Submissions in progress when the phase ended.
    pub unfinished: u64,
    /// Responses with a success status.
    pub page_elements: u64,
    /// Submissions that failed because of their connection.
    pub network_errors: u64,
    /// Submissions that the application rejected or failed to process.
    pub server_errors: u64,
    /// Bytes read, headers included.
    pub bytes_read: u64,
    /// Bytes written, headers included.
    pub bytes_written: u64,
    /// Sum of the response times of all page elements.
    pub response_sum_ns: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.offered += other.offered;
        self.carried += other.carried;
        self.not_met += other.not_met;
        self.completed += other.completed;
        self.unfinished += other.unfinished;
        self.page_elements += other.page_elements;
        self.network_errors += other.network_errors;
        self.server_errors += other.server_errors;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.response_sum_ns += other.response_sum_ns;
    }
}

/// Counts of all operations together since the measuring phase began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Time since the phase began.
    pub at: Duration,
    /// Clients of the generator.
    pub users: u32,
    /// Clients that wait for an answer and have had none since the phase began.
    pub starved: u32,
    /// The sums.
    pub counts: Counts,
}
