//! HTTP: connections, sessions, and the two formats of each operation's result, HTML and JSON.

mod form;
mod html;
mod request;
mod server;
mod sessions;
mod stream;

pub(crate) use server::Server;
pub(crate) use sessions::Sessions;
