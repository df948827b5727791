//! The FTP task of an agent.

use netstudy_records::{DataPath, Direction, FileStore, FtpLogin};
use netstudy_workload::ftp::FtpConfig;

/// Prefix of a user name; the rest is the number that the server gives to the user's connection.
pub(super) const USER_PREFIX: &str = "netstudy-";

/// The FTP task of an agent: server or client.
pub(crate) enum FtpTask {
    /// Fetches or sends files.
    Client(ClientTask),
    /// Sends files to its clients or receives files from them.
    Server(ServerTask),
}

/// See [`netstudy_records::AgentWorkload::FtpClient`].
pub(crate) struct ClientTask {
    pub(crate) file: FileTask,
    pub(crate) data_path: DataPath,
    pub(crate) path: String,
    pub(crate) config: FtpConfig,
}

/// See [`netstudy_records::AgentWorkload::FtpServer`].
pub(crate) struct ServerTask {
    pub(crate) file: FileTask,
    pub(crate) data_path: DataPath,
}

/// Properties of the transferred file that client and server must agree on.
#[derive(Clone)]
pub(crate) struct FileTask {
    pub(crate) direction: Direction,
    pub(crate) size_bytes: u64,
    pub(crate) store: FileStore,
    pub(crate) login: Option<FtpLogin>,
    pub(crate) verify: bool,
}
