//! HTTP: connections, sessions, and the formatting of results as HTML or JSON.

mod form;
mod html;
mod request;
mod server;
mod sessions;
mod stream;

pub(crate) use server::Server;
pub(crate) use sessions::Sessions;
