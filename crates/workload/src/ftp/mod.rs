//! The file transfer protocol: control and passive data connections, binary, RETR and STOR. The
//! sessions receive text and return text and steps; the driver handles sockets and files.

mod client;
mod command;
mod flows;
mod lines;
mod reply;
mod server;

pub use client::{ClientSession, ClientStep, Login, RemoteFile};
pub use command::Command;
pub use flows::{FtpAction, FtpClient, FtpConfig, Stored};
pub use lines::{BadLine, LINE_BYTES_MAX, Lines};
pub use reply::{BadReply, Replies, Reply};
pub use server::{FileTrouble, ServerSession, ServerStep};
