//! HTTP: connections, sessions, and the two faces of each operation, HTML and JSON.

mod form;
mod html;
mod request;
mod server;
mod sessions;
mod stream;

pub(crate) use server::Server;
pub(crate) use sessions::Sessions;
