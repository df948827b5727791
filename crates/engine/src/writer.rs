//! Writes records to a stream, one line each.

use std::collections::BTreeMap;
use std::io::{self, Write};

use netstudy_records::{Record, RunRecord};

/// Writes records. Runs are in the order of the plan or, on request, in the order in which they
/// finish.
pub(crate) struct Writer<W> {
    out: W,
    as_completed: bool,
    /// Runs that have ended, but cannot be written yet because an earlier run of the plan has not
    /// ended.
    early: BTreeMap<usize, Box<RunRecord>>,
    next: usize,
    runs: usize,
}

impl<W: Write> Writer<W> {
    pub(crate) const fn new(out: W, runs: usize, as_completed: bool) -> Self {
        Self { out, as_completed, early: BTreeMap::new(), next: 0, runs }
    }

    /// Writes one record, and makes it visible to the reader.
    pub(crate) fn write(&mut self, record: &Record) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        self.out.write_all(&line)?;
        self.out.flush()
    }

    /// Takes the record of the run with the index `index`.
    pub(crate) fn write_run(&mut self, index: usize, record: Box<RunRecord>) -> io::Result<()> {
        debug_assert!(index < self.runs, "a run of the plan");
        if self.as_completed {
            return self.write(&Record::Run(record));
        }
        self.early.insert(index, record);
        while let Some(record) = self.early.remove(&self.next) {
            self.write(&Record::Run(record))?;
            self.next += 1;
        }
        Ok(())
    }
}
