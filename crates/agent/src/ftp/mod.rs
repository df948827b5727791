//! Files by FTP, over the kernel's TCP: a client or a server of the sessions of a run.
//!
//! One thread drives the sessions of `netstudy_workload::ftp`: it waits for control connections, for
//! listeners and for the controller. Each file is carried by a thread of its own ([`carry`]), which does nothing but
//! read and write, since disks block; so does a daemon with a process a session.

mod carry;
mod client;
mod files;
mod server;
mod tally;

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use netstudy_records::{DataPath, Direction, FileStore, FtpLogin};
use netstudy_workload::ftp::FtpConfig;
use nix::errno::Errno;
use nix::poll::{PollFd, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;

use crate::Agent;
use crate::failure::Failure;
use carry::{Cargo, Carried};

/// Name of the file that a server of a run sends.
pub(crate) const FILE_NAME: &str = "data";
/// Name with which the users of a run begin; the number of their connection at the server follows.
const USER_PREFIX: &str = "netstudy-";
/// Most bytes that are read of a control connection at once.
const CONTROL_BYTES: usize = 4096;

/// The FTP task of an agent: server or client.
pub(crate) enum FtpTask {
    /// Fetches or sends files.
    Client(ClientTask),
    /// Serves or takes files.
    Server(ServerTask),
}

/// As [`netstudy_records::AgentWorkload::FtpClient`].
pub(crate) struct ClientTask {
    pub(crate) file: FileTask,
    pub(crate) data_path: DataPath,
    pub(crate) path: String,
    pub(crate) config: FtpConfig,
}

/// As [`netstudy_records::AgentWorkload::FtpServer`].
pub(crate) struct ServerTask {
    pub(crate) file: FileTask,
    pub(crate) data_path: DataPath,
}

/// The file's properties that client and server share.
#[derive(Clone)]
pub(crate) struct FileTask {
    pub(crate) direction: Direction,
    pub(crate) size_bytes: u64,
    pub(crate) store: FileStore,
    pub(crate) login: Option<FtpLogin>,
    pub(crate) verify: bool,
}

impl FtpTask {
    /// Runs the task until the controller stops it, and writes the recorded data.
    pub(crate) fn run(&self, agent: &Agent<'_>) -> Result<(), Failure> {
        files::prime_program()?;
        match self {
            Self::Client(task) => client::run(agent, task),
            Self::Server(task) => server::run(agent, task),
        }
    }
}

/// Threads that carry files, and the news of their ends.
struct Carriers {
    news: Receiver<(u64, Carried)>,
    tell: Sender<(u64, Carried)>,
    /// Readable while there are news.
    wake: Arc<EventFd>,
}

impl Carriers {
    fn new() -> Result<Self, Failure> {
        let (tell, news) = channel();
        let wake = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
            .map_err(Failure::run("an event descriptor"))?;
        Ok(Self { news, tell, wake: Arc::new(wake) })
    }

    /// Begins to carry, under a number of the caller's.
    fn start(&self, number: u64, cargo: Cargo) -> Result<(), Failure> {
        let (tell, wake) = (self.tell.clone(), Arc::clone(&self.wake));
        let carry = move || {
            let carried = cargo.carry();
            // Nobody is there to hear it when the agent ends.
            let _ = tell.send((number, carried));
            let _ = wake.write(1);
        };
        thread::Builder::new()
            .name("carrier".to_owned())
            .spawn(carry)
            .map(drop)
            .map_err(Failure::run("starting a thread"))
    }

    /// Files that have been carried since the last call.
    fn ended(&self) -> Vec<(u64, Carried)> {
        let _ = self.wake.read();
        self.news.try_iter().collect()
    }
}

/// Result of reading from a control connection.
enum Heard {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Nothing yet.
    Nothing,
    /// The other end has closed it.
    End,
}

/// Reads from a control connection without waiting.
fn hear(mut stream: &TcpStream) -> io::Result<Heard> {
    let mut bytes = vec![0; CONTROL_BYTES];
    match stream.read(&mut bytes) {
        Ok(0) => Ok(Heard::End),
        Ok(count) => {
            bytes.truncate(count);
            Ok(Heard::Bytes(bytes))
        }
        Err(error) if is_passing(&error) => Ok(Heard::Nothing),
        Err(error) => Err(error),
    }
}

/// Writes to a control connection, whose buffer has room for all text between two answers.
fn say(mut stream: &TcpStream, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock)
}

/// Waits for one of `fds`, at most so long; none: for ever.
fn wait_for(fds: &mut [PollFd<'_>], timeout: Option<Duration>) -> Result<(), Failure> {
    match ppoll(fds, timeout.map(TimeSpec::from_duration), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(Failure::run("ppoll")(error)),
    }
}

/// A descriptor to be waited for.
fn waited(fd: &impl AsFd, flags: nix::poll::PollFlags) -> PollFd<'_> {
    PollFd::new(fd.as_fd(), flags)
}
