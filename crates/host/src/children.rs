//! The children of the host's process, by name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use netstudy_records::{HostProgram, HostRecord, HostSignal};

use crate::child::Child;
use crate::output::Output;

/// Longest wait for children that were killed. They end at once, unless they wait for a device.
const KILL_TIME: Duration = Duration::from_secs(1);

/// All children of this session, ended ones included.
#[derive(Debug)]
pub(crate) struct Children {
    output: Arc<Output>,
    by_name: BTreeMap<String, Child>,
}

impl Children {
    pub(crate) const fn new(output: Arc<Output>) -> Self {
        Self { output, by_name: BTreeMap::new() }
    }

    /// Starts a child.
    ///
    /// # Errors
    /// The name is in use or cannot be one, or the child cannot be started.
    pub(crate) fn start(&mut self, name: String, program: HostProgram) -> Result<(), String> {
        if name.is_empty() || name.contains(['\t', '\n']) {
            return Err(format!(
                "{name:?} cannot be a name: it is empty, or has a tab or a line feed"
            ));
        }
        if self.by_name.get(&name).is_some_and(|child| !child.is_reported()) {
            return Err(format!("the name '{name}' is in use"));
        }
        let child = Child::start(&name, program, &self.output)?;
        self.by_name.insert(name, child);
        Ok(())
    }

    /// The child with a name, which may have ended.
    ///
    /// # Errors
    /// No child ever had this name.
    pub(crate) fn named(&mut self, name: &str) -> Result<&mut Child, String> {
        self.by_name.get_mut(name).ok_or_else(|| format!("no child is named '{name}'"))
    }

    /// Sends a signal to a child.
    ///
    /// # Errors
    /// See [`Self::named`].
    pub(crate) fn signal(&mut self, name: &str, signal: HostSignal) -> Result<(), String> {
        let child = self.named(name)?;
        match signal {
            HostSignal::Term => child.terminate(),
            HostSignal::Kill => child.kill(),
        }
        Ok(())
    }

    /// Finds children that have ended or were paused.
    pub(crate) fn look(&mut self) {
        for (name, child) in &mut self.by_name {
            if child.look() {
                self.output.say(&HostRecord::Paused { name: name.clone() });
            }
        }
    }

    /// Kills all children, and waits until they have ended.
    pub(crate) fn kill_all(&mut self) {
        let deadline = Instant::now() + KILL_TIME;
        self.by_name.values().for_each(Child::kill);
        while self.by_name.values().any(Child::is_running) && Instant::now() < deadline {
            self.by_name.values_mut().for_each(|child| _ = child.look());
            thread::sleep(Duration::from_millis(1));
        }
    }
}
