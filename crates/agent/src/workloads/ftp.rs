//! File transfers by FTP.

use netstudy_records::{AgentPlan, DataPath, Direction, FileStore, FtpLogin, Until};
use netstudy_units::Duration;
use netstudy_workload::ftp::FtpConfig;

use super::recording::Recording;
use super::role::{Role, Task};
use super::transfer::Transfers;
use crate::application::phases;
use crate::ftp::task::{ClientTask, FileTask, FtpTask, ServerTask};

/// Sends files to its clients or receives files from them.
pub(super) struct Server {
    pub(super) file: FileTask,
    pub(super) data_path: DataPath,
}

/// Fetches or sends files, with one session per connection of the plan.
pub(super) struct Client<'a> {
    pub(super) file: FileTask,
    pub(super) data_path: DataPath,
    pub(super) path: &'a str,
    pub(super) pause_ns: u64,
    pub(super) warmup: Until,
    pub(super) measure: Until,
}

impl Role for Server {
    fn opens(&self) -> bool {
        false
    }

    fn task(&self, plan: &AgentPlan, _connections: u32) -> Result<Task, String> {
        check(plan, &self.file)?;
        check_path(&self.file, self.data_path)?;
        let file = self.file.clone();
        Ok(Task::Ftp(FtpTask::Server(ServerTask { file, data_path: self.data_path })))
    }
}

impl Role for Client<'_> {
    fn opens(&self) -> bool {
        true
    }

    fn task(&self, plan: &AgentPlan, _connections: u32) -> Result<Task, String> {
        check(plan, &self.file)?;
        check_path(&self.file, self.data_path)?;
        let phases = phases(self.warmup, self.measure);
        let config = FtpConfig { pause: Duration::from_ns(self.pause_ns), phases };
        config.check()?;
        let (file, data_path) = (self.file.clone(), self.data_path);
        let path = self.path.to_owned();
        Ok(Task::Ftp(FtpTask::Client(ClientTask { file, data_path, path, config })))
    }

    fn recording(&self, _connections: u32) -> Box<dyn Recording> {
        Box::new(Transfers::default())
    }

    fn records_seconds(&self) -> bool {
        true
    }
}

fn check_path(file: &FileTask, data_path: DataPath) -> Result<(), String> {
    if file.store == FileStore::Memory && data_path == DataPath::Sendfile {
        return Err(
            "data_path: sendfile needs a file, but the store generates data in memory".to_owned()
        );
    }
    Ok(())
}

fn check(plan: &AgentPlan, file: &FileTask) -> Result<(), String> {
    if plan.probe.is_some() {
        return Err("file transfers by FTP cannot be combined with a probe".to_owned());
    }
    if file.direction == Direction::Both {
        return Err("direction: a file is sent one way, not both".to_owned());
    }
    if file.size_bytes == 0 {
        return Err("size_bytes: a file must have at least one byte".to_owned());
    }
    Ok(())
}

pub(super) fn file(
    direction: Direction,
    size_bytes: u64,
    store: &FileStore,
    login: Option<&FtpLogin>,
    verify: bool,
) -> FileTask {
    FileTask { direction, size_bytes, store: store.clone(), login: login.cloned(), verify }
}
