//! Standard output. A thread writes the lines of a queue, so that only children wait while nobody
//! reads them.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use netstudy_records::HostRecord;

use crate::Failure;

/// Children wait while so many bytes of their lines are queued.
const PASSED_BYTES_MAX: usize = 1 << 20;

/// The queue of lines.
#[derive(Debug, Default)]
pub(crate) struct Output {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    /// Answers of the host itself, which are written first: a clock is asked while agents write
    /// their records.
    own: VecDeque<Vec<u8>>,
    /// Lines of children, and their ends.
    passed: VecDeque<Vec<u8>>,
    passed_bytes: usize,
    /// A line has been taken out, but is not written yet.
    is_writing: bool,
    /// Writing has failed: the controller has closed its end.
    is_broken: bool,
}

impl Output {
    /// Starts the thread that writes.
    pub(crate) fn start() -> Result<Arc<Self>, Failure> {
        let output = Arc::new(Self::default());
        let stdout = io::stdout().as_fd().try_clone_to_owned();
        let stdout = File::from(stdout.map_err(Failure::during("standard output"))?);
        let writer = Arc::clone(&output);
        thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || writer.write_all_lines(stdout))
            .map_err(Failure::during("starting a thread"))?;
        Ok(output)
    }

    /// Queues a line as it is. Never blocks.
    pub(crate) fn say_line(&self, line: String) {
        let mut line = line.into_bytes();
        line.push(b'\n');
        self.queue().own.push_back(line);
        self.changed.notify_all();
    }

    /// Queues a record, which overtakes lines of children. Never blocks.
    pub(crate) fn say(&self, record: &HostRecord) {
        self.say_line(text(record));
    }

    /// Queues a record behind the lines of children. Blocks like [`Self::pass`].
    pub(crate) fn say_in_turn(&self, record: &HostRecord) {
        self.pass((text(record) + "\n").into_bytes());
    }

    /// Queues a line of a child, with its name and its line feed. Blocks while too many are queued.
    pub(crate) fn pass(&self, line: Vec<u8>) {
        let queue = self.queue();
        let is_full =
            |queue: &mut Queue| queue.passed_bytes >= PASSED_BYTES_MAX && !queue.is_broken;
        let mut queue =
            self.changed.wait_while(queue, is_full).unwrap_or_else(PoisonError::into_inner);
        queue.passed_bytes += line.len();
        queue.passed.push_back(line);
        drop(queue);
        self.changed.notify_all();
    }

    /// True if the controller has closed its end.
    pub(crate) fn is_broken(&self) -> bool {
        self.queue().is_broken
    }

    /// Waits until everything is written, but not longer than `patience`.
    pub(crate) fn settle(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut queue = self.queue();
        while !queue.is_settled() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn write_all_lines(&self, mut stdout: File) {
        loop {
            let line = self.next();
            let written = stdout.write_all(&line);
            let mut queue = self.queue();
            queue.is_writing = false;
            queue.is_broken |= written.is_err();
            drop(queue);
            self.changed.notify_all();
        }
    }

    /// The next line to be written. After a failure lines are taken out too, so that no child waits.
    fn next(&self) -> Vec<u8> {
        let is_empty = |queue: &mut Queue| queue.own.is_empty() && queue.passed.is_empty();
        let waited = self.changed.wait_while(self.queue(), is_empty);
        let mut queue = waited.unwrap_or_else(PoisonError::into_inner);
        queue.is_writing = true;
        if let Some(line) = queue.own.pop_front() {
            return line;
        }
        let line = queue.passed.pop_front().unwrap_or_default();
        queue.passed_bytes -= line.len();
        line
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn is_settled(&self) -> bool {
        let is_empty = self.own.is_empty() && self.passed.is_empty() && !self.is_writing;
        is_empty || self.is_broken
    }
}

/// A record as a line of the host itself, whose name is empty.
fn text(record: &HostRecord) -> String {
    let json = serde_json::to_string(record);
    format!("\t{}", json.unwrap_or_else(|error| unreachable!("a record is JSON: {error}")))
}
